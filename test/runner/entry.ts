/**
 * Loads the test files given as arguments into this one process, each as a suite of its own: hooks that a file sets
 * outside every suite then hold for that file only, and a file that cannot be loaded is a failure like any other.
 */
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) {
  describe(file, async () => {
    await import(pathToFileURL(file).href);
  });
}
