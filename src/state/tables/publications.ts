/**
 * Evidence of a request that is settled, on its way to its final place (contract §10, order of
 * delivery).
 */
export interface PublicationRow {
  id: string;
  /** Name of the instance that publishes it. */
  owner: string;
  /** The service's own identifier of the request, as the audit log has it. */
  request: string;
  /**
   * DUE: to be published once the record of the request is on the disk. PUBLISHED: with other names
   * than were planned.
   */
  state: string;
  /** Where it lies and where it goes to: JSON. */
  items: string;
  /** PUBLISHED: planned path to given path, JSON. */
  renamed: string | null;
  /**
   * DUE: when it is given up. PUBLISHED: until when repeated answers may need the names.
   * Milliseconds since epoch.
   */
  ends_at: number;
}
