/** azure-storage 2.10 answers by callbacks; its tests await promises. */

/** Calls a function whose last argument is a callback, and resolves with the result. */
export const call = <T>(start: (done: (error: Error | null, result: T) => void) => unknown): Promise<T> =>
  new Promise((resolve, reject) => {
    start((error, result) => (error === null || error === undefined ? resolve(result) : reject(error)));
  });
