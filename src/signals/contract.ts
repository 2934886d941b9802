/** What every way of signalling promises, as tests. Run over each adapter by signals.test.ts. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { PAYLOAD_BYTES_MAX, type Signals, type Topic } from './signals.ts';

export interface SignalsSubject {
  /** A node of the store. */
  open(storeId: string): Promise<Signals>;
  /** After every test, when all nodes are closed. */
  dispose(): Promise<void>;
}

export interface SignalsTraits {
  /** How many nodes a store of the tests has. */
  readonly nodeCount: number;
}

const HEARING_LIMIT_MS = 20_000;

export function signalsContract(name: string, prepare: () => Promise<SignalsSubject>, traits: SignalsTraits): void {
  describe(`signals: ${name}`, () => {
    let subject: SignalsSubject;
    let opened: Signals[];
    let nodes: Signals[];

    beforeEach(async () => {
      subject = await prepare();
      opened = [];
      nodes = await openStore();
    });

    afterEach(async () => {
      for (const node of opened) await node.close();
      await subject.dispose();
    });

    async function openStore(): Promise<Signals[]> {
      const storeId = randomUUID();
      const store = await Promise.all(Array.from({ length: traits.nodeCount }, () => subject.open(storeId)));
      opened.push(...store);
      return store;
    }

    test('a signal reaches every listener of every node once, the sender among them', async () => {
      const ears = await Promise.all([...nodes, ...nodes].map((node) => Ear.of(node, 'news')));
      for (const [index, node] of nodes.entries()) {
        await node.send('news', `from ${index}`);
        await Promise.all(ears.map((ear) => ear.hears(`from ${index}`)));
      }
      const all = nodes.map((_, index) => `from ${index}`);
      for (const ear of ears) assert.deepEqual(ear.heard, all);
    });

    test('the signals of one sender are heard in the order in which they were sent', async () => {
      const ears = await Promise.all(nodes.map((node) => Ear.of(node, 'news')));
      const numbers = Array.from({ length: 200 }, (_, number) => number);
      const sent = nodes.flatMap((node, index) => numbers.map((number) => node.send('news', `${index}/${number}`)));
      await Promise.all(sent);
      for (const ear of ears) {
        for (const index of nodes.keys()) {
          await ear.hears(`${index}/199`);
          const heard = ear.heard.filter((payload) => payload.startsWith(`${index}/`));
          assert.deepEqual(
            heard,
            numbers.map((number) => `${index}/${number}`),
          );
        }
      }
    });

    test('equal signals are heard as often as they were sent', async () => {
      const ears = await Promise.all(nodes.map((node) => Ear.of(node, 'news')));
      const sender = nodes[0] as Signals;
      for (let time = 0; time < 5; time++) void sender.send('news', 'again');
      await sender.send('news', 'end');
      for (const ear of ears) {
        await ear.hears('end');
        assert.deepEqual(ear.heard, ['again', 'again', 'again', 'again', 'again', 'end']);
      }
    });

    test('what a listener sends in turn comes after what it heard, to everybody', async () => {
      const node = nodes[0] as Signals;
      await node.listen('news', (payload) => {
        if (payload === 'question') void node.send('news', 'answer');
      });
      const ears = await Promise.all(nodes.map((node) => Ear.of(node, 'news')));
      await (nodes.at(-1) as Signals).send('news', 'question');
      for (const ear of ears) {
        await ear.hears('answer');
        assert.deepEqual(ear.heard, ['question', 'answer']);
      }
    });

    test('topics are apart', async () => {
      const ears = await Promise.all(nodes.map(async (node) => [await Ear.of(node, 'a'), await Ear.of(node, 'a-b')]));
      const sender = nodes[0] as Signals;
      await sender.send('a', 'to a');
      await sender.send('a-b', 'to a-b');
      await sender.send('a', 'end');
      for (const [a, ab] of ears as [Ear, Ear][]) {
        await a.hears('end');
        assert.deepEqual(a.heard, ['to a', 'end']);
        assert.deepEqual(ab.heard, ['to a-b']);
      }
    });

    test('a listener that has ended hears nothing more, and others go on', async () => {
      const listener = nodes.at(-1) as Signals;
      const [ended, other] = [await Ear.of(listener, 'news'), await Ear.of(listener, 'news')];
      const sender = nodes[0] as Signals;
      await sender.send('news', 'one');
      await Promise.all([ended.hears('one'), other.hears('one')]);
      ended.end();
      await sender.send('news', 'two');
      await other.hears('two');
      assert.deepEqual(ended.heard, ['one']);
    });

    test('what was sent before a listener ended is not heard after it', async () => {
      const node = nodes[0] as Signals;
      const ear = await Ear.of(node, 'news');
      const sending = node.send('news', 'late');
      ear.end();
      await sending;
      await node.send('news', 'later');
      assert.deepEqual(ear.heard, []);
    });

    const long = 'x'.repeat(PAYLOAD_BYTES_MAX);
    const payloads: readonly (readonly [what: string, payload: string])[] = [
      ['an empty payload', ''],
      ['the longest payload', long],
      ['the longest payload of long characters', '\u{1f40b}'.repeat(PAYLOAD_BYTES_MAX / 4)],
      ['a payload of quotes, dots, spaces, line ends and zero bytes', `'"\\ $1.2..\r\n\t\0 %s {"a":[]}`],
    ];
    for (const [what, payload] of payloads) {
      test(`${what} comes whole`, async () => {
        const ears = await Promise.all(nodes.map((node) => Ear.of(node, 'news')));
        await (nodes[0] as Signals).send('news', payload);
        for (const ear of ears) {
          await ear.hears(payload);
          assert.deepEqual(ear.heard, [payload]);
        }
      });
    }

    test('a payload that is too long is refused, and nobody hears of it', async () => {
      const ears = await Promise.all(nodes.map((node) => Ear.of(node, 'news')));
      const sender = nodes[0] as Signals;
      for (const payload of [`${long}x`, `${long.slice(1)}é`]) {
        assert.throws(() => void sender.send('news', payload), RangeError);
      }
      await sender.send('news', 'end');
      for (const ear of ears) {
        await ear.hears('end');
        assert.deepEqual(ear.heard, ['end']);
      }
    });

    test('a closed node hears nothing, and what it sends is no error', async () => {
      const closed = nodes.at(-1) as Signals;
      const deaf = await Ear.of(closed, 'news');
      const others = await Promise.all(nodes.slice(0, -1).map((node) => Ear.of(node, 'news')));
      await closed.close();
      const late = await Ear.of(closed, 'news');
      await closed.send('news', 'from the closed one');
      for (const node of nodes.slice(0, -1)) await node.send('news', 'end');
      await Promise.all(others.map((ear) => ear.hears('end')));
      assert.deepEqual(deaf.heard, []);
      assert.deepEqual(late.heard, []);
      for (const ear of others) assert.ok(!ear.heard.includes('from the closed one'));
    });

    test('two stores do not hear each other', async () => {
      const strangers = await openStore();
      const ears = await Promise.all([...nodes, ...strangers].map((node) => Ear.of(node, 'news')));
      await (nodes[0] as Signals).send('news', 'to one');
      await (strangers[0] as Signals).send('news', 'to the other');
      await (nodes[0] as Signals).send('news', 'end');
      await (strangers[0] as Signals).send('news', 'end');
      await Promise.all(ears.map((ear) => ear.hears('end')));
      for (const [index, ear] of ears.entries()) {
        assert.deepEqual(ear.heard, [index < nodes.length ? 'to one' : 'to the other', 'end']);
      }
    });
  });
}

/** A listener that remembers. */
export class Ear {
  readonly heard: string[] = [];
  readonly #news = new EventEmitter();
  end!: () => void;

  static async of(signals: Signals, topic: Topic): Promise<Ear> {
    const ear = new Ear();
    ear.end = await signals.listen(topic, (payload) => {
      ear.heard.push(payload);
      ear.#news.emit('heard');
    });
    return ear;
  }

  /** Resolves once this payload was heard. */
  async hears(payload: string): Promise<void> {
    const signal = AbortSignal.timeout(HEARING_LIMIT_MS);
    while (!this.heard.includes(payload)) await once(this.#news, 'heard', { signal });
  }
}
