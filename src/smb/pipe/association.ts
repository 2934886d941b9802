/**
 * One client's conversation with one interface ([C706] 12, [MS-RPCE] 3.3.1.5): it binds, then it calls, in as many fragments as
 * it likes. Whatever cannot be understood is answered with a fault, and what breaks the protocol ends the conversation.
 */
import { BadStub, NdrReader, NdrWriter } from './ndr.ts';
import {
  type BindResult,
  type CallFragment,
  decodeBind,
  decodeCallFragment,
  encodeBindAck,
  encodeFault,
  encodeResponse,
  encodeUnknownAuthentication,
  Fault,
  FLAG_FIRST,
  FLAG_LAST,
  FRAGMENT_BYTES_MAX,
  isSame,
  NDR,
  type Pdu,
  PduType,
  type PresentationContext,
} from './pdu.ts';
import type { RpcCaller, RpcInterface } from './rpc-interface.ts';

/** Of all arguments of one call together. */
const ARGUMENTS_BYTES_MAX = 64 * 1024;
/** Nobody needs more: one for each way to write arguments. */
const CONTEXT_COUNT_MAX = 16;

interface Call extends CallFragment {
  readonly callId: number;
  readonly pieces: Buffer[];
  lengthBytes: number;
}

/** Messages for the client, each a fragment; null: nothing more is to be said to it. */
export type Answers = readonly Buffer[] | null;

export class Association {
  readonly #interface: RpcInterface;
  readonly #caller: RpcCaller;
  /** `\PIPE\srvsvc` */
  readonly #address: string;
  readonly #group: number;
  readonly #contexts = new Set<number>();
  #isBound = false;
  #fragmentBytesMax = FRAGMENT_BYTES_MAX;
  /** Of which some fragments have come. */
  #call: Call | null = null;

  constructor(options: { of: RpcInterface; caller: RpcCaller; address: string; group: number }) {
    this.#interface = options.of;
    this.#caller = options.caller;
    this.#address = options.address;
    this.#group = options.group;
  }

  async take(pdu: Pdu): Promise<Answers> {
    try {
      return await this.#answer(pdu);
    } catch (error) {
      // The head of a message that is shorter than it has to be.
      if (error instanceof RangeError) return null;
      throw error;
    }
  }

  #answer(pdu: Pdu): Promise<Answers> | Answers {
    switch (pdu.type) {
      case PduType.BIND:
      case PduType.ALTER_CONTEXT:
        return this.#bind(pdu);
      case PduType.REQUEST:
        return this.#request(pdu);
      case PduType.CO_CANCEL:
      case PduType.ORPHANED:
        if (this.#call?.callId === pdu.callId) this.#call = null;
        return [];
      default:
        return null;
    }
  }

  #bind({ type, callId, hasAuth, body }: Pdu): Answers {
    const isFirst = type === PduType.BIND;
    if (hasAuth) return [encodeUnknownAuthentication(callId)];
    if (isFirst === this.#isBound) return null;
    const { fragmentBytesMax, group, contexts } = decodeBind(body);
    if (contexts.length > CONTEXT_COUNT_MAX) return null;
    const results = contexts.map((context) => this.#accept(context));
    if (isFirst) this.#fragmentBytesMax = fragmentBytesMax;
    this.#isBound = true;
    return [
      encodeBindAck({
        type: isFirst ? PduType.BIND_ACK : PduType.ALTER_CONTEXT_RESP,
        callId,
        group: group === 0 ? this.#group : group,
        address: isFirst ? this.#address : '',
        results,
      }),
    ];
  }

  #accept({ id, abstract, transfers }: PresentationContext): BindResult {
    if (!isSame(abstract, this.#interface.syntax)) return 'unknown interface';
    if (!transfers.some((transfer) => isSame(transfer, NDR))) return 'unknown transfer syntax';
    this.#contexts.add(id);
    return 'accepted';
  }

  #request(pdu: Pdu): Promise<Answers> | Answers {
    const { callId, flags, hasAuth } = pdu;
    const fragment = decodeCallFragment(pdu);
    const refuse = (fault: Fault): Answers => {
      this.#call = null;
      return [encodeFault(callId, fragment.contextId, fault)];
    };
    if (!this.#isBound || hasAuth) return refuse(Fault.PROTO_ERROR);
    if ((flags & FLAG_FIRST) !== 0) {
      if (this.#call !== null) return refuse(Fault.PROTO_ERROR);
      this.#call = { ...fragment, callId, pieces: [], lengthBytes: 0 };
    }
    const call = this.#call;
    if (call === null || call.callId !== callId || call.operation !== fragment.operation)
      return refuse(Fault.PROTO_ERROR);
    call.lengthBytes += fragment.stub.length;
    if (call.lengthBytes > ARGUMENTS_BYTES_MAX) return refuse(Fault.NO_MEMORY);
    // What was read is overwritten by what is read next.
    call.pieces.push(Buffer.from(fragment.stub));
    if ((flags & FLAG_LAST) === 0) return [];
    this.#call = null;
    return this.#perform(call);
  }

  async #perform({ callId, contextId, operation, pieces }: Call): Promise<Answers> {
    if (!this.#contexts.has(contextId)) return [encodeFault(callId, contextId, Fault.UNK_IF)];
    const perform = this.#interface.calls.get(operation);
    if (perform === undefined) return [encodeFault(callId, contextId, Fault.OP_RNG_ERROR)];
    const out = new NdrWriter();
    try {
      await perform(this.#caller, new NdrReader(Buffer.concat(pieces)), out);
    } catch (error) {
      if (!(error instanceof BadStub)) throw error;
      return [encodeFault(callId, contextId, Fault.BAD_STUB_DATA)];
    }
    return encodeResponse({ callId, contextId, fragmentBytesMax: this.#fragmentBytesMax }, out.result());
  }
}
