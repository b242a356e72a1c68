/** Evidence of a settled request that is not yet published (contract §10, order of delivery). */
export interface PublicationRow {
  id: string;
  /** Name of the instance that publishes it. */
  owner: string;
  /** The service's own identifier of the request, as in the audit log. */
  request: string;
  /**
   * DUE: to be published once the record of the request is on disk. PUBLISHED: under other names
   * than planned.
   */
  state: string;
  /** Sources and destinations: JSON. */
  items: string;
  /** PUBLISHED: map from planned to actual path, JSON. */
  renamed: string | null;
  /**
   * DUE: when publication is given up. PUBLISHED: until when repeated answers may need the names.
   * Milliseconds since epoch.
   */
  ends_at: number;
}
