/**
 * What commands of a real machine say their user is called. A host user without privileges may map but one id, which is
 * root's inside, so that every account of the machine is that one (see its home, which differs all the same).
 */
export const accountSeen = (name: string): string => (process.getuid?.() === 0 ? name : 'root')
