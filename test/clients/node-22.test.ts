/** Node 22, a line still maintained. */
// tier: system
// engines: embedded
import { testUnderNode } from './under-node.ts';

testUnderNode('22');
