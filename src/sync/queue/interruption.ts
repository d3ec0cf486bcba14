// The reasons for which work on a run stops although the run has not failed.

/** A caller requested the cancellation of the run. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';
}
/** The process is shutting down: another one resumes the run. */
export class Stopping extends Error {
  override readonly name = 'Stopping';
}
