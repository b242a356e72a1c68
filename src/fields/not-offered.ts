/** Marks a part of the interface that is checked and then refused with 1/104; the documentation does not go into it. */
export const notOffered = { description: 'not offered by this version: 1/104', 'x-offered': false };
