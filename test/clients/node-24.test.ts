/** Node 24, a line still maintained. */
// tier: system
// engines: embedded
import { testUnderNode } from './under-node.ts';

testUnderNode('24');
