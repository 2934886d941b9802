/** Node 22, a supported version. */
// tier: system
// engines: embedded
// process: own
import { testUnderNode } from './under-node.ts';

testUnderNode(22);
