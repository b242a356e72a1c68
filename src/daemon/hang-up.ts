/** SIGHUP from now on: one that comes while the service starts is answered after the start. Answers what begins the answering. */
export function heldHangUps(): (reload: () => void) => void {
  const started = Promise.withResolvers<() => void>();
  process.on('SIGHUP', () => {
    void started.promise.then((reload) => {
      reload();
    });
  });
  return started.resolve;
}
