/** Loads the test files given as arguments into this one process; a file that cannot be loaded is a failed test. */
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) {
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    test(`${file} can be loaded`, () => {
      throw error;
    });
  }
}
