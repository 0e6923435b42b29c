/** Text for the model that describes the sandbox. */
export declare const defaultInstructions: (workingDirectory: string | undefined) => string;
