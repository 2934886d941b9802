/**
 * How the examples send requests and print the answers. An example knows how each request should end; if a server
 * answers differently, the example stops with an error.
 */
import { RestError } from '@azure/storage-blob';

const ACCEPTED = 'accepted';

/** `accepted`, or the error that the server answered with, such as `412 ConditionNotMet`. Rethrows any other failure. */
export async function answerTo(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return ACCEPTED;
  } catch (error) {
    if (!(error instanceof RestError) || error.statusCode === undefined) throw error;
    return `${error.statusCode} ${error.code ?? tableCodeOf(error.details)}`;
  }
}

/** The Table client leaves the error code in the parsed body. */
function tableCodeOf(details: unknown): string {
  return (details as { odataError?: { code?: string } } | undefined)?.odataError?.code ?? '';
}

export const isAccepted = (answer: string): boolean => answer === ACCEPTED;

export async function succeeds(deed: string, request: Promise<unknown>): Promise<void> {
  const answer = await answerTo(request);
  console.log(`   ${deed}: ${answer}.`);
  if (!isAccepted(answer)) throw new Error('This server refused a request that it should have accepted.');
}

export async function loses(deed: string, request: Promise<unknown>, why: string): Promise<void> {
  const answer = await answerTo(request);
  console.log(`   ${deed}: ${answer}.`);
  if (isAccepted(answer)) throw new Error('This server accepted a request that it should have refused.');
  console.log(`   ${why}`);
}
