/** In place of a way to other servers, where there is none. */
import { type Outside, SourceUnreachable } from './outside.ts';

const refuse = async (): Promise<never> => {
  throw new SourceUnreachable('forbidden', 'This server copies from its own blobs only.');
};

export const NOTHING_OUTSIDE: Outside = { open: refuse, head: refuse };
