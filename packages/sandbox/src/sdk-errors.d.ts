/** The typed form of anything the SDK throws. Errors of this family pass unchanged. */
export declare function translateError(error: unknown, operation: string): Error;
/** The code under which an error of the SDK, or an already translated one, is reported. */
export declare const errorCode: (error: unknown) => string | undefined;
/** May a create that failed so have made a sandbox all the same? A refusal (4xx, 503) says that it did not. */
export declare const isAmbiguous: (error: unknown) => boolean;
