/**
 * A public price list as the gateway reads one every night, made up for the demo: some prices differ from those
 * in force, one is absurd, and one is of a model that is called but has no price yet.
 */
export const PRICE_CATALOGUE = {
  openai: {
    models: {
      'gpt-5.5': { cost: { input: 4.5, output: 27, cache_read: 0.45 } },
      'gpt-4o': { cost: { input: 2.5, output: 10, cache_read: 1.25 } },
      'gpt-4.1': { cost: { input: 25, output: 100, cache_read: 6.25 } },
      'gpt-5.4-mini': { cost: { input: 0.75, output: 4.5, cache_read: 0.075 } },
    },
  },
  anthropic: {
    models: {
      'claude-opus-4-8': { cost: { input: 4, output: 20, cache_read: 0.4, cache_write: 5 } },
      'claude-sonnet-4-6': { cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
    },
  },
  google: {
    models: {
      'gemini-3.1-pro-preview': { cost: { input: 2, output: 12, cache_read: 0.2 } },
      'gemini-2.5-flash': { cost: { input: 0.35, output: 2.8, cache_read: 0.035 } },
    },
  },
  mistral: {
    models: {
      'mistral-medium-4': {
        family: 'mistral-medium',
        cost: { input: 0.9, output: 3.6 },
        limit: { context: 262_144 },
      },
    },
  },
} as const;
