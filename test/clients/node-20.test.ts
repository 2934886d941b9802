/** The oldest version of Node that is supported. */
// tier: system
// engines: embedded
import { testUnderNode } from './under-node.ts';

testUnderNode('20.19');
