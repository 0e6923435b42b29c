import type { ConnectionOpts } from 'e2b';
import { type Redactor, type TemplateApi } from '@warmbox/resolution';
import type { E2BSandboxOptions } from './options.ts';
import { type SandboxApi } from './sdk.ts';
/** One account at one endpoint. */
export interface Connection {
    /** What the SDK is given. Holds the API key. */
    readonly sdk: Readonly<ConnectionOpts>;
    readonly sandboxes: SandboxApi;
    readonly templates: TemplateApi;
    /** Removes the API key from what is thrown or reported. */
    readonly redactor: Redactor;
}
/** @throws E2BSandboxError `MISSING_API_KEY` */
export declare function openConnection(options: E2BSandboxOptions, environment?: NodeJS.ProcessEnv): Connection;
