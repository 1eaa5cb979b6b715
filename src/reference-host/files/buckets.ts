import type { S3Client } from '@aws-sdk/client-s3';
import { LargeImageError } from '../../index.js';
import { describeMissingPackages } from '../../optional-packages.js';
import type { Bucket } from '../../s3/index.js';

/**
 * Opens buckets of the object store that the environment variables of the AWS SDK describe. The connection is opened when the first file is
 * read.
 */
export class Buckets {
  #client: Promise<S3Client> | null = null;

  constructor(private readonly env: Readonly<Record<string, string | undefined>> = process.env) {}

  async openBucket(name: string): Promise<Bucket> {
    const { Bucket } = await import('../../s3/index.js');
    this.#client ??= this.#connect();
    return new Bucket(await this.#client, name);
  }

  async close(): Promise<void> {
    (await this.#client)?.destroy();
  }

  async #connect(): Promise<S3Client> {
    const { S3Client } = await import('@aws-sdk/client-s3').catch((cause: unknown) => {
      throw new LargeImageError(
        'unavailable',
        `Files in buckets cannot be read: ${describeMissingPackages('@aws-sdk/client-s3')}.`,
        {
          cause,
        },
      );
    });
    const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION } = this.env;
    const endpoint = AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL;
    return new S3Client({
      // Gateways do not accept bucket names as part of the host name, and few of them know regions.
      ...(endpoint && { endpoint, forcePathStyle: true, region: AWS_REGION || 'us-east-1' }),
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }
}
