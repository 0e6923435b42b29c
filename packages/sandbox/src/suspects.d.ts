/**
 * Notes that a create from this ref failed on the platform's side. A build can be listed as ready although its files
 * are lost, and then every create from it fails so.
 * @returns true from the second failure without a success in between on: the ref counts as unusable
 */
export declare function suspect(key: string): boolean;
/** A sandbox was created from this ref. */
export declare const exonerate: (key: string) => void;
