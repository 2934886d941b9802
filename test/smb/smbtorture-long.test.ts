/** Samba's own tests of SMB servers, those that wait for long. Needs smbtorture. */
// tier: system
// engines: embedded
import { describe } from 'node:test';
import { missingTool } from '../packages.ts';
import { expectedPasses, LONG_SUITES, testSuites } from './smbtorture.ts';

const expected = [...(await expectedPasses())].filter(([suite]) => LONG_SUITES.has(suite));

describe('smbtorture', { skip: missingTool('smbtorture'), concurrency: 2 }, () => testSuites(expected));
