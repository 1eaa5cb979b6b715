import { anyObject, anything, component, dateText as date, listOf, mapOf, type Schema } from '../../http/schemas.js';

const jobIdSchema = { type: 'string', pattern: '^[0-9a-f]{24}$' };

/** JSON schema of a job in responses. */
export const jobSchema = component('Job', {
  type: 'object',
  required: ['_id', 'title', 'type', 'status', 'created', 'updated', '_accessLevel', '_modelType'],
  properties: {
    _id: jobIdSchema,
    title: { type: 'string' },
    type: { type: 'string' },
    status: {
      type: 'integer',
      enum: [0, 1, 2, 3, 4, 5, 820, 821, 822, 823, 824],
      description:
        '0 INACTIVE, 1 QUEUED, 2 RUNNING, 3 SUCCESS, 4 ERROR, 5 CANCELED; worker-run jobs also 820 FETCHING_INPUT, 821 CONVERTING_INPUT, ' +
        '822 CONVERTING_OUTPUT, 823 PUSHING_OUTPUT, 824 CANCELING.',
    },
    created: date,
    updated: date,
    when: date,
    interval: { type: 'integer' },
    progress: {
      oneOf: [
        { type: 'null' },
        {
          type: 'object',
          properties: {
            total: { type: ['number', 'null'] },
            current: { type: ['number', 'null'] },
            message: { type: ['string', 'null'] },
          },
        },
      ],
    },
    meta: anyObject,
    public: { type: 'boolean' },
    parentId: { oneOf: [{ type: 'null' }, jobIdSchema] },
    asynchronous: { type: 'boolean' },
    timestamps: { type: 'array', items: { type: 'object', properties: { status: { type: 'integer' }, time: date } } },
    handler: { type: ['string', 'null'] },
    args: { type: 'array', items: anything, description: 'Site administrators only.' },
    kwargs: { ...anyObject, description: 'Site administrators only.' },
    log: { type: 'array', items: { type: 'string' }, description: 'GET /job/:id only.' },
    _accessLevel: { type: 'integer', enum: [-1, 0, 1, 2] },
    _modelType: { const: 'job' },
  },
});

/** JSON schema of a list of jobs. */
export const jobListSchema = listOf(jobSchema);

const { _accessLevel, _modelType, ...storedProperties } = jobSchema.properties;

/** JSON schema of a job with all stored fields. */
export const storedJobSchema: Schema = component('StoredJob', {
  type: 'object',
  required: jobSchema.required.filter((name) => name in storedProperties),
  properties: {
    ...storedProperties,
    userId: { type: ['string', 'null'] },
    access: { type: 'object', additionalProperties: listOf(anyObject) },
    module: { type: 'string' },
    function: { type: ['string', 'null'] },
    results: mapOf(anything),
  },
  additionalProperties: true,
});
