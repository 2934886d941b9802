/**
 * What actions of all simulations share: how what was seen of one is kept, and the search for an order of several that
 * explains what was seen of all of them.
 */
import assert from 'node:assert/strict';
import type { Storage } from '../../src/service/storage.ts';
import { StorageError } from '../../src/service/storage-error.ts';

/** A refusal by its code, or what came of it. */
export type Seen<T> = { readonly refusal: string } | { readonly result: T };

/** Something that can be done once, and what was seen then. */
export interface Watched<T> {
  readonly run: (storage: Storage) => Promise<void>;
  readonly seen: () => Seen<T>;
}

export function watch<T>(what: string, act: (storage: Storage) => Promise<T>): Watched<T> {
  let seen: Seen<T> | null = null;
  return {
    async run(storage) {
      try {
        seen = { result: await act(storage) };
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        seen = { refusal: error.code };
      }
    },
    seen() {
      if (seen === null) throw new Error(`${what} has not been done`);
      return seen;
    },
  };
}

/** Whether a refusal was seen, or the lack of one, as it is expected. Null: it was. */
export function codeProblem(seen: Seen<unknown>, expected: string | null): string | null {
  const found = 'refusal' in seen ? seen.refusal : null;
  return found === expected ? null : `${found ?? 'done'}, expected ${expected ?? 'it to be done'}`;
}

interface Explanation<Model, Action> {
  /** The model after the action, or what a model that is as this one does not explain. */
  readonly explain: (action: Action, model: Model) => Model | string;
  readonly isStored: (model: Model) => boolean;
}

/** The model after these actions in an order that explains all that was seen, and what is stored now. */
export function inSomeOrder<Model, Action extends { readonly what: string }>(
  model: Model,
  actions: readonly Action[],
  explanation: Explanation<Model, Action>,
): Model {
  const problems: string[] = [];
  const found = search(model, actions, { ...explanation, problems });
  assert.ok(found !== null, `no order explains it:\n${problems.join('\n')}`);
  return found;
}

function search<Model, Action extends { readonly what: string }>(
  model: Model,
  actions: readonly Action[],
  context: Explanation<Model, Action> & { readonly problems: string[] },
): Model | null {
  if (actions.length === 0) {
    if (context.isStored(model)) return model;
    context.problems.push('what is stored is something else');
    return null;
  }
  for (const action of actions) {
    const after = context.explain(action, model);
    if (typeof after === 'string') {
      context.problems.push(`${action.what}: ${after}`);
      continue;
    }
    const rest = actions.filter((other) => other !== action);
    const found = search(after, rest, context);
    if (found !== null) return found;
  }
  return null;
}
