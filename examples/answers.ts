/**
 * How the examples send requests and say what became of them. An example knows how each request ought to end; against a
 * server that answers otherwise it stops with an error.
 */
import { RestError } from '@azure/storage-blob';

const ACCEPTED = 'accepted';

/** `accepted`, or what the server refused it with: `412 ConditionNotMet`. Any other failure is thrown on. */
export async function answerTo(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return ACCEPTED;
  } catch (error) {
    if (!(error instanceof RestError) || error.statusCode === undefined) throw error;
    return `${error.statusCode} ${error.code ?? tableCodeOf(error.details)}`;
  }
}

/** The Table client leaves the code where the answer had it. */
function tableCodeOf(details: unknown): string {
  return (details as { odataError?: { code?: string } } | undefined)?.odataError?.code ?? '';
}

export const isAccepted = (answer: string): boolean => answer === ACCEPTED;

export async function succeeds(deed: string, request: Promise<unknown>): Promise<void> {
  const answer = await answerTo(request);
  console.log(`   ${deed}: ${answer}.`);
  if (!isAccepted(answer)) throw new Error('This server refuses what it ought to accept.');
}

export async function loses(deed: string, request: Promise<unknown>, why: string): Promise<void> {
  const answer = await answerTo(request);
  console.log(`   ${deed}: ${answer}.`);
  if (isAccepted(answer)) throw new Error('This server accepts what it ought to refuse.');
  console.log(`   ${why}`);
}
