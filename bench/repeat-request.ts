// For benchmarks whose process is busy for seconds, servers included: a server may close an idle connection
// just as it is used again.

/**
 * Sends a request again when its connection broke. Only for requests that may be repeated. Rejects with what
 * the second attempt throws.
 */
export async function repeatRequest<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    // What fetch throws when there was no response.
    if (!(error instanceof TypeError)) throw error;
    return send();
  }
}
