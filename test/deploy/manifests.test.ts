/**
 * The files for Docker and Kubernetes, as far as they can be judged without either: they are well-formed, set only what
 * the server knows, agree with each other, hold no secret, and leave a node the time that it takes to stop.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { makeConfig, SERVE_OPTIONS, STORE_OPTIONS } from '../../src/config/config.ts';
import { OPTIONS, readOptions } from '../../src/config/options.ts';
import { missingTool } from '../packages.ts';
import { HAPROXY_FILE } from './balancer.ts';

const COMPOSE_FILE = 'docker-compose.yml';
const KUBERNETES_FOLDER = 'deploy/kubernetes';
const GUIDE_FILES = ['docs/scale-out.md', 'docs/scale-out-failures.md', 'docs/scale-out-capacity.md'];

/** For the requests under way, when the draining is over (http/server.ts). */
const CLOSE_SECONDS = 10;

const textOf = (file: string): string => readFileSync(file, 'utf8');

const kubernetesFiles = readdirSync(KUBERNETES_FOLDER).map((name) => join(KUBERNETES_FOLDER, name));
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const shippedFiles = [COMPOSE_FILE, 'Dockerfile', ...filesIn('deploy')];

/** Debian's own Python: one from elsewhere does not see Debian's packages. */
const PYTHON = '/usr/bin/python3';

/** All documents of a file. */
function parseYaml(file: string): Record<string, unknown>[] {
  const program = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)';
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', program, file], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Record<string, unknown>[];
}

type Environment = Record<string, string>;

interface ComposeService {
  readonly environment?: Environment;
  readonly stop_grace_period?: string;
  readonly volumes?: readonly string[];
}

const composeServices = (): Record<string, ComposeService> =>
  (parseYaml(COMPOSE_FILE)[0] as { services: Record<string, ComposeService> }).services;

const composeNodes = (): ComposeService[] =>
  Object.entries(composeServices()).flatMap(([name, service]) => (/^node\d$/.test(name) ? [service] : []));

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly stringData?: Environment;
  readonly data?: Environment;
  readonly spec?: unknown;
}

const manifestsIn = (file: string): Manifest[] => parseYaml(file) as unknown as Manifest[];

interface Container {
  readonly env: readonly {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef: { name: string; key: string } };
  }[];
  readonly ports: readonly { name: string; containerPort: number }[];
  readonly image: string;
}

interface Deployment {
  readonly template: {
    readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly [Container] };
  };
}

const LARIMAR_FILE = join(KUBERNETES_FOLDER, 'larimar.yaml');

function deployment(): Deployment['template']['spec'] {
  const found = manifestsIn(LARIMAR_FILE).find(({ kind }) => kind === 'Deployment') as Manifest;
  return (found.spec as Deployment).template.spec;
}

/** What the container gets, with the Secret's texts in their places. */
function kubernetesEnvironment(): Environment {
  const secrets = manifestsIn(LARIMAR_FILE).filter(({ kind }) => kind === 'Secret');
  const texts = new Map(secrets.map(({ metadata, stringData }) => [metadata.name, stringData ?? {}]));
  const [{ env }] = deployment().containers;
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      const text = value ?? texts.get(valueFrom?.secretKeyRef.name ?? '')?.[valueFrom?.secretKeyRef.key ?? ''];
      assert.ok(text !== undefined, `${name} has no value`);
      return [name, text];
    }),
  );
}

const KEY = Buffer.alloc(64, 'key').toString('base64');

/** As somebody would fill it in. */
const filledIn = (environment: Environment): Environment =>
  Object.fromEntries(
    Object.entries(environment).map(([name, text]) => [
      name,
      text
        .replace(/^\$\{LARIMAR_ACCOUNTS:\?[^}]*\}$/, `team:${KEY}`)
        .replace('REPLACE_ACCOUNT_KEY', KEY)
        .replaceAll(/\$\{[A-Z0-9_]+:\?[^}]*\}|REPLACE_[A-Z_]+/g, 'c0ffee'),
    ]),
  );

describe('what the files set', () => {
  const known = new Set<string>(Object.values(OPTIONS).map(({ environment }) => environment));

  for (const file of [...shippedFiles, ...GUIDE_FILES]) {
    test(`${file} names no variable that the server does not know`, () => {
      const named = [...textOf(file).matchAll(/\bLARIMAR_[A-Z_]+\b/g)].map(([name]) => name);
      // The one that the compose file alone reads.
      const strange = named.filter((name) => !known.has(name) && name !== 'LARIMAR_PUBLISH');
      assert.deepEqual(strange, []);
    });
  }

  test('the guide gives the server no option that it does not know', () => {
    const flags = new Set<string>(Object.values(OPTIONS).map(({ flag }) => flag));
    const storeFlags = new Set<string>(STORE_OPTIONS.map((name) => OPTIONS[name].flag));
    const commands = GUIDE_FILES.map(textOf)
      .join('\n')
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .flatMap((line) => [...line.matchAll(/\blarimar(?:\.js)? (serve|check)\b([^`|]*)/g)]);
    assert.ok(commands.length >= 3, 'there are hardly any commands in it');
    for (const [whole, command, rest = ''] of commands) {
      const given = [...rest.matchAll(/(?<=\s)--[a-z][a-z-]*/g)].map(([flag]) => flag);
      const strange = given.filter((flag) => !(command === 'serve' ? flags : storeFlags).has(flag));
      assert.deepEqual(strange, [], whole);
    }
  });
});

describe('the YAML files', { skip: missingTool('pythonYaml') }, () => {
  for (const file of [COMPOSE_FILE, ...kubernetesFiles]) {
    test(`${file} is well-formed`, () => {
      for (const document of parseYaml(file)) assert.equal(typeof document, 'object');
    });
  }

  test('there are three nodes in the compose file, alike, and each has its line in the balancer’s', () => {
    const [first, ...others] = composeNodes();
    assert.equal(others.length, 2);
    for (const other of others) assert.deepEqual(other, first);
    for (const port of [10_000, 10_001, 10_002, 10_003, 10_445]) {
      const lines = textOf(HAPROXY_FILE).matchAll(new RegExp(`^ {2}server node\\d node\\d:${port}$`, 'gm'));
      assert.equal([...lines].length, 3);
    }
  });

  for (const [what, environment] of [
    ['the compose file', () => composeNodes()[0]?.environment as Environment],
    ['the Deployment', kubernetesEnvironment],
  ] as const) {
    test(`a server takes what ${what} gives it`, async () => {
      const config = await makeConfig(readOptions([], filledIn(environment()), SERVE_OPTIONS));
      assert.equal(config.store.kind, 'database');
      assert.ok(config.store.kind === 'database' && config.store.objectsUrl !== null);
      assert.deepEqual(
        [
          config.host,
          config.blobPort,
          config.queuePort,
          config.tablePort,
          config.filePort,
          config.smbPort,
          config.adminPort,
          config.tls,
        ],
        ['0.0.0.0', 10_000, 10_001, 10_002, 10_003, 10_445, 10_004, null],
      );
      assert.deepEqual(config.accounts, [{ name: 'team', keys: [KEY] }]);
    });
  }

  test('both give the same variables', () => {
    const names = (environment: Environment): string[] => Object.keys(environment).toSorted();
    assert.deepEqual(names(kubernetesEnvironment()), names(composeNodes()[0]?.environment as Environment));
  });

  test('the ports are those that the balancer and the image speak of', () => {
    const [{ ports }] = deployment().containers;
    assert.deepEqual(
      ports.map(({ containerPort }) => containerPort),
      [10_000, 10_001, 10_002, 10_003, 10_445, 10_004],
    );
    assert.match(textOf(HAPROXY_FILE), /^ {2}default-server check port 10004 /m);
    assert.match(textOf('Dockerfile'), /^EXPOSE 10000 10001 10002 10003 10004 10445$/m);
  });

  test('a node drains for longer than the balancer takes to notice, and is left the time to finish', async () => {
    const [, interval, fall] = /check port 10004 inter (\d+)s fall (\d+)/.exec(textOf(HAPROXY_FILE)) ?? [];
    const noticeSeconds = Number(interval) * Number(fall) + 1;
    const compose = composeNodes()[0];
    for (const [environment, graceSeconds] of [
      [compose?.environment as Environment, Number.parseInt(compose?.stop_grace_period ?? '', 10)],
      [kubernetesEnvironment(), deployment().terminationGracePeriodSeconds],
    ] as const) {
      const { drainSeconds } = await makeConfig(readOptions([], filledIn(environment), SERVE_OPTIONS));
      assert.ok(drainSeconds > noticeSeconds, `${drainSeconds} s of draining, ${noticeSeconds} s until it is noticed`);
      assert.ok(
        graceSeconds > drainSeconds + CLOSE_SECONDS,
        `${graceSeconds} s for ${drainSeconds} s and ${CLOSE_SECONDS} s`,
      );
    }
  });

  test('the object store is told to sync before it answers, in Kubernetes as in compose', () => {
    const toml = textOf('deploy/garage.toml');
    for (const line of ['metadata_fsync = true', 'data_fsync = true']) assert.ok(toml.split('\n').includes(line), line);
    assert.ok(composeServices()['object-store']?.volumes?.includes('./deploy/garage.toml:/etc/garage.toml:ro'));
    const [config] = manifestsIn(join(KUBERNETES_FOLDER, 'object-store.yaml')).filter(
      ({ kind }) => kind === 'ConfigMap',
    );
    assert.equal(config?.data?.['garage.toml'], toml);
  });

  test('every secret is a place to fill in, and compose refuses to start while one is empty', () => {
    const secrets = kubernetesFiles.flatMap(manifestsIn).filter(({ kind }) => kind === 'Secret');
    assert.equal(secrets.length, 3);
    for (const { metadata, stringData = {} } of secrets) {
      const others = Object.entries(stringData).filter(([, text]) => !text.includes('REPLACE_'));
      assert.deepEqual(
        others.map(([name]) => name),
        metadata.name === 'larimar' ? ['content'] : [],
      );
    }
    const asked = [...textOf(COMPOSE_FILE).matchAll(/\$\{([A-Z0-9_]+):\?[^}]+\}/g)].map(([, name]) => name as string);
    const offered = [...textOf('deploy/compose.env.example').matchAll(/^([A-Z0-9_]+)=(.*)$/gm)];
    assert.deepEqual([...new Set(asked)].toSorted(), offered.map(([, name]) => name as string).toSorted());
    assert.ok(offered.every(([, , value]) => value === ''));
    for (const [name, { environment = {} }] of Object.entries(composeServices())) {
      const bare = Object.entries(environment).filter(
        ([key, text]) => /SECRET|PASSWORD|KEY/.test(key) && !text.includes(':?'),
      );
      assert.deepEqual(bare, [], name);
    }
  });
});

describe('the image', () => {
  const LEFT_OUT = /\.test\.ts$|\/contract\.ts$/;
  /** From the folder that the image is built in; what .dockerignore lets through. */
  const letIn = textOf('.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));

  test('everything that it is built from is let into the build', () => {
    const copied = [...textOf('Dockerfile').matchAll(/^COPY (?!--from)(.*)$/gm)].flatMap(([, words = '']) =>
      words.split(' ').slice(0, -1),
    );
    assert.deepEqual([...new Set(copied)].toSorted(), letIn.toSorted());
    for (const path of copied) accessSync(path);
  });

  test('the sources need nothing that is left out of it', () => {
    const sources = filesIn('src').filter((file) => !LEFT_OUT.test(file));
    assert.ok(sources.length > 50);
    for (const file of sources) {
      const imports = [...textOf(file).matchAll(/from '(\.[^']*)'/g)].map(([, path]) => path as string);
      const outside = imports.filter((path) => {
        const target = join(file, '..', path);
        return !target.startsWith('src/') || LEFT_OUT.test(target);
      });
      assert.deepEqual(outside, [], file);
    }
  });
});
