import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVE_OPTIONS } from '../config/config.ts';
import { OPTIONS } from '../config/options.ts';
import { renderHelp } from './help.ts';

const WIDTH_MAX = 120;

test('the help names both commands and every option with its variable', () => {
  const help = renderHelp();
  for (const text of ['larimar [serve]', 'larimar check', '--version']) assert.ok(help.includes(text), text);
  for (const name of SERVE_OPTIONS) {
    assert.ok(help.includes(`  ${OPTIONS[name].flag}`), OPTIONS[name].flag);
    assert.ok(help.includes(`(${OPTIONS[name].environment})`), OPTIONS[name].environment);
  }
});

test('the help shows how several nodes are started over one store', () => {
  const help = renderHelp();
  for (const form of [/LARIMAR_ENGINE=postgres:\/\//, /LARIMAR_CONTENT='s3:\/\//, /LARIMAR_ACCOUNTS=/, /\/ready/]) {
    assert.match(help, form);
  }
});

test('the help fits a terminal', () => {
  for (const line of renderHelp().split('\n')) assert.ok(line.length <= WIDTH_MAX, line);
});
