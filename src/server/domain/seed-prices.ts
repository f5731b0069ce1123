import { PROV_A_MODELS } from './seed-prices/prov-a.ts';
import { PROV_B_MODELS } from './seed-prices/prov-b.ts';
import { PROV_C_MODELS } from './seed-prices/prov-c.ts';
import { PROV_D_MODELS } from './seed-prices/prov-d.ts';
import type { SeedModel } from './seed-prices/seed-model.ts';

/** The catalogue a new gateway starts with; from then on the operator's prices are the truth. */
export const SEED_MODELS: readonly SeedModel[] = [
  ...PROV_A_MODELS,
  ...PROV_B_MODELS,
  ...PROV_C_MODELS,
  ...PROV_D_MODELS,
];
