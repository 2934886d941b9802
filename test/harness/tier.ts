/**
 * Which of the two tiers a test runs in: `npm test` is the quick one, `npm run test:system` the other. A random or
 * repeated test does the same thing in both, more often in the second.
 */

export const TIERS = ['quick', 'system'] as const;

export type Tier = (typeof TIERS)[number];

/** The runner sets it; a test file that is run by hand is in the quick tier. */
export const TIER_VARIABLE = 'LARIMAR_TEST_TIER';

export const isSystemTier = (): boolean => process.env[TIER_VARIABLE] === 'system';

/** How often, how many, how long: the number for this tier. */
export const byTier = ({ quick, system }: Readonly<Record<Tier, number>>): number => (isSystemTier() ? system : quick);
