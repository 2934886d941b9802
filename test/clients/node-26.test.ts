/** Node 26, a supported version. */
// tier: system
// engines: embedded
import { testUnderNode } from './under-node.ts';

testUnderNode(26);
