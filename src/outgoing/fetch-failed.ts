/** The exchange did not come to a good end. The message says why, and nothing of what was sent. */
export class FetchFailed extends Error {}
