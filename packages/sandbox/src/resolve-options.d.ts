import { type E2BSandboxOptions, type ResolvedOptions } from './options.ts';
/**
 * Checks options and fills in the defaults.
 * @throws E2BSandboxError `INVALID_OPTION` naming the option and what to write instead
 */
export declare function resolveOptions(options: E2BSandboxOptions, newId: () => string, environment?: NodeJS.ProcessEnv): ResolvedOptions;
