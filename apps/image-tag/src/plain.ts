/** Text as it is, or quoted where it holds anything a terminal could take for more than a letter. */
export const plain = (text: string): string => (/^[^\p{C}\p{Zl}\p{Zp}]*$/u.test(text) ? text : JSON.stringify(text))
