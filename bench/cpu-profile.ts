/** Reads V8's `.cpuprofile` files: which function, and which file, the samples of a span of time were taken in. */

import { readFileSync } from 'node:fs';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  /** Microseconds from the sample before. */
  timeDeltas: number[];
  /** Microseconds of the monotonic clock. */
  startTime: number;
}

export interface Span {
  fromUs: number;
  toUs: number;
}

export interface SelfTimes {
  idleUs: number;
  busyUs: number;
  byFunction: Map<string, number>;
  byFile: Map<string, number>;
}

export function readSelfTimes(file: string, options: { span: Span; baseFolder: string }): SelfTimes {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const times: SelfTimes = { idleUs: 0, busyUs: 0, byFunction: new Map(), byFile: new Map() };
  let atUs = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    atUs += profile.timeDeltas[index] ?? 0;
    if (atUs < options.span.fromUs || atUs > options.span.toUs) continue;
    // A sample stands for the time until the next one.
    const us = profile.timeDeltas[index + 1] ?? 0;
    const frame = nodes.get(id);
    if (frame === undefined) continue;
    if (frame.functionName === '(idle)') {
      times.idleUs += us;
      continue;
    }
    times.busyUs += us;
    const place = placeOf(frame.url, options.baseFolder);
    const name = frame.functionName === '' ? '(anonymous)' : frame.functionName;
    add(times.byFunction, place === '' ? name : `${name} ${place}:${frame.lineNumber + 1}`, us);
    add(times.byFile, place === '' ? name : place, us);
  }
  return times;
}

function placeOf(url: string, baseFolder: string): string {
  return url.replace(/^file:\/\//, '').replace(`${baseFolder}/`, '');
}

function add(sums: Map<string, number>, key: string, us: number): void {
  sums.set(key, (sums.get(key) ?? 0) + us);
}

/** The largest entries, as lines with their share of the busy time. */
export function renderTop(sums: Map<string, number>, options: { busyUs: number; count: number }): string[] {
  return [...sums]
    .sort((a, b) => b[1] - a[1])
    .slice(0, options.count)
    .map(([name, us]) => `${((us / options.busyUs) * 100).toFixed(1).padStart(6)} %  ${name}`);
}
