// Why work on a run stops without the run having failed.

/** Someone asked to cancel the run. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';
}
/** The process stops: the run goes on elsewhere. */
export class Stopping extends Error {
  override readonly name = 'Stopping';
}
