/** What a service gives to the HTTP server: its routes, and the two things of its data that the edge must know. */
import type { Need, ResourceAcl, ServiceLetter } from '../auth/identity.ts';
import type { CorsRule } from '../rules/cors.ts';
import type { StorageError } from '../service/storage-error.ts';
import type { AuthorizedExchange, Exchange, Reply } from './exchange.ts';
import type { FaultContext } from './faults.ts';
import type { AccountNames, AddressedTarget } from './request-target.ts';

export interface Route {
  /** As in Microsoft's documentation: `Put Block List`. */
  readonly operation: string;
  readonly need: Need;
  /** What is addressed, decoded: [], [container] or [container, blob]. */
  readonly resource: readonly string[];
  handle(exchange: AuthorizedExchange, openPart: OpenPart): Promise<Reply>;
}

/** A request that came in the body of another. */
export interface PartRequest {
  readonly method: string;
  /** As on the part's request line: a path, with or without the account. */
  readonly url: string;
  /** Names as written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface Part {
  readonly exchange: Exchange;
  /** Answers it as if it had come by itself; a refusal is an answer too. */
  readonly answer: () => Promise<Reply>;
}

/** For operations whose body holds requests: a part of theirs. Throws a StorageError where its URL cannot be read. */
export type OpenPart = (request: PartRequest) => Part;

export interface Door {
  readonly service: ServiceLetter;
  /** What a request is addressed to, where clients are known to leave something out of its URL. */
  locate?(exchange: Pick<Exchange, 'header'>, target: AddressedTarget, accounts: AccountNames): AddressedTarget;
  /** The operation that a request asks for; throws a StorageError where there is none. Reads no body and no record. */
  route(exchange: Exchange): Route;
  /** The ACL of the resource's container; null where there is no such container. */
  loadAcl(account: string, resource: readonly string[]): Promise<ResourceAcl | null>;
  loadCorsRules(account: string): Promise<readonly CorsRule[]>;
  /** The version that serves requests which name none. */
  loadDefaultVersion(account: string): Promise<string | null>;
  /** What a refusal looks like. */
  renderFault(error: StorageError, context: FaultContext): Reply;
}
