import type { Sandbox } from 'e2b';
/** @throws E2BSandboxError `INVALID_OPTION` */
export declare function assertPort(port: number): void;
/** Public URL under which a port of a running sandbox answers. */
export declare const portUrl: (sandbox: Sandbox, port: number) => string;
