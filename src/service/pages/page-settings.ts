/** The sizes that maps of pages work with. Tests make them small, so that a few writes reach every limit. */
export interface PageSettings {
  /** The address space is cut into chunks of this size, each with a row of its own. Less than 16 MiB. */
  readonly chunkBytes: number;
  /** A clear that meets more rows than these, or more pieces in them, is a cut. */
  readonly clearedRowsMax: number;
  readonly clearedPiecesMax: number;
  /** Cuts that a map has at a time before a wide clear is asked to wait for the sweeper. */
  readonly cutsMax: number;
  /** What one transaction of a sweep or of a copy deals with. */
  readonly stepRows: number;
  readonly stepPieces: number;
  /** Rows read at a time on a walk. */
  readonly walkRows: number;
  /** Of so few chunks the earlier states are looked up all at once. */
  readonly seekChunksMax: number;
  /** A read that needs no more than this is planned at once; any other holds its epoch and goes window by window. */
  readonly plan: PlanLimits;
  readonly window: PlanLimits;
}

export interface PlanLimits {
  readonly rows: number;
  /** Each of them is pinned. */
  readonly placedPieces: number;
  /** Each of them is loaded whole, and has up to 8 KiB. */
  readonly inlinePieces: number;
}

export const PAGE_SETTINGS: PageSettings = {
  chunkBytes: 256 * 1024,
  clearedRowsMax: 64,
  clearedPiecesMax: 4_096,
  cutsMax: 128,
  stepRows: 64,
  stepPieces: 2_048,
  walkRows: 256,
  seekChunksMax: 32,
  plan: { rows: 1_024, placedPieces: 256, inlinePieces: 1_024 },
  window: { rows: 64, placedPieces: 64, inlinePieces: 256 },
};
