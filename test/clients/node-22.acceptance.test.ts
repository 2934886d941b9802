/** Node 22, a line still maintained. */
// engines: embedded
import { testUnderNode } from './under-node.ts';

testUnderNode('22');
