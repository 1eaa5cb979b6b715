/**
 * Option of writes that are acknowledged when most servers of the database have them on disk. It is set explicitly, because a database that is
 * killed may lose writes that it has acknowledged under the default write concern of a single server, or that of the connection string.
 */
export const durable = { writeConcern: { w: 'majority', j: true } } as const;
