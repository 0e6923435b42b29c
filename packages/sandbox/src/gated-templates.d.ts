import type { TemplateApi } from '@warmbox/resolution';
/**
 * The same account, but nothing is changed there until `gate` opens: questions are asked at once, builds and tags wait.
 * A signal that was aborted meanwhile keeps the change from being made.
 */
export declare function gateChanges(api: TemplateApi, gate: Promise<void>): TemplateApi;
