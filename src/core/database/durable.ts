/**
 * Options of a write that is acknowledged only when most servers of the database have it on disk. These options are set explicitly,
 * because with the default write concern of a single server, or the one in the connection string, a killed database may lose
 * acknowledged writes.
 */
export const durable = { writeConcern: { w: 'majority', j: true } } as const;
