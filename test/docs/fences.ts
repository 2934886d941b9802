/**
 * The fenced code blocks of the project's Markdown pages (CommonMark 4.5), with page and line, as far as the pages need
 * it: a fence may be indented inside a list item, but may not stand in a quotation.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Snippet {
  /** As the project names it: `docs/connect.md`. */
  readonly page: string;
  /** Of the opening fence, counted from 1. */
  readonly line: number;
  /** The first word after the fence; empty if there is none. */
  readonly language: string;
  /** Without the fence's own indentation; ends with a line feed. */
  readonly code: string;
  /** What the page says above the block, without other blocks. */
  readonly prose: string;
}

const FENCE = /^( *)(`{3,}|~{3,}) *([^\s`]*)[^`]*$/;
const QUOTED_FENCE = /^ *>[ >]*(?:`{3,}|~{3,})/;

interface OpenFence {
  readonly line: number;
  readonly indent: number;
  readonly mark: string;
  readonly language: string;
  readonly code: string[];
}

function isEndOf(open: OpenFence, text: string): boolean {
  const mark = text.trim();
  return mark.startsWith(open.mark) && mark === (open.mark[0] as string).repeat(mark.length);
}

/** Fails, with page and line, on a fence that is never closed or stands in a quotation. */
export function parseFences(page: string, text: string): Snippet[] {
  const snippets: Snippet[] = [];
  const prose: string[] = [];
  let open: OpenFence | null = null;
  for (const [index, content] of text.split('\n').entries()) {
    const line = index + 1;
    if (open !== null) {
      if (isEndOf(open, content)) {
        const { language, code } = open;
        const whole = code.map((one) => `${one}\n`).join('');
        snippets.push({ page, line: open.line, language, code: whole, prose: prose.join('\n') });
        open = null;
      } else {
        const indent = content.length - content.trimStart().length;
        open.code.push(content.slice(Math.min(open.indent, indent)));
      }
      continue;
    }
    if (QUOTED_FENCE.test(content)) throw new Error(`${page}:${line}: a code block in a quotation is not supported`);
    const [, indent = '', mark = '', language = ''] = FENCE.exec(content) ?? [];
    if (mark === '') prose.push(content);
    else open = { line, indent: indent.length, mark, language, code: [] };
  }
  if (open !== null) throw new Error(`${page}:${open.line}: this code block is not closed`);
  return snippets;
}

const FOLDERS = ['.github', 'bench', 'deploy', 'docs', 'examples', 'src', 'test'];

const isPage = (path: string): boolean => path.endsWith('.md') && !path.includes('node_modules');

/** From the project's folder, whatever pages there are. */
export function listPages(): string[] {
  const below = FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  return [...readdirSync('.'), ...below].filter(isPage).sort();
}

export const readSnippets = (page: string): Snippet[] => parseFences(page, readFileSync(page, 'utf8'));

/** `docs/connect.md:13 js`. */
export const nameOf = ({ page, line, language }: Snippet): string => `${page}:${line} ${language}`;
