// Made by test/rest/host/api-description.test.ts from the description of the API. To renew it: npx vitest run -u test/rest/host/api-description.test.ts
export interface components {
    schemas: {
        AccessList: {
            users: {
                id: string;
                level: number;
                flags: string[];
                login?: string;
                name?: string;
            }[];
            groups: {
                id: string;
                level: number;
                flags: string[];
                name?: string;
                description?: string;
            }[];
        };
        Annotation: {
            _id: string;
            itemId: string;
            annotation: components["schemas"]["ShownDocument"];
            _version: number;
            _elementCount: number;
            _detailsCount: number;
            creatorId?: string | null;
            /** Format: date-time */
            created?: string;
            /** Format: date-time */
            updated?: string;
            updatedId?: string | null;
            public?: boolean;
            publicFlags?: string[];
            access?: {
                [key: string]: unknown;
            };
            groups?: (string | null)[];
            /** Format: date-time */
            fileChanged?: string;
            /** @constant */
            _active?: false;
            _annotationId?: string;
            _elementQuery?: {
                returned?: number;
                details?: number;
                orders?: number[];
            };
            /** @enum {integer} */
            _accessLevel?: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType?: "annotation";
        };
        AnnotationDocument: {
            name?: string;
            description?: string;
            display?: {
                visible?: "new" | boolean;
            };
            attributes?: {
                [key: string]: unknown;
            };
            elements?: components["schemas"]["Element"][];
        };
        ApiKey: {
            _id: string;
            name: string;
            active: boolean;
            scope: string[] | null;
            tokenDuration: number | null;
            userId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            lastUse: string | null;
            /** @enum {integer} */
            _accessLevel: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType: "api_key";
            prefix?: string;
            key?: string;
        };
        ArrowElement: {
            /** @constant */
            type: "arrow";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            points: number[][];
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
        };
        CircleElement: {
            /** @constant */
            type: "circle";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            center: number[];
            radius: number;
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
            pattern?: string;
        };
        Collection: {
            _id: string;
            name: string;
            description: string | null;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            updated: string;
            size: number;
            meta: {
                [key: string]: unknown;
            };
            public: boolean;
            /** @enum {integer} */
            _accessLevel: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType: "collection";
            publicFlags?: string[];
        };
        CurrentToken: {
            _id: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires: string;
            scope: string[];
            userId?: string;
            apiKeyId?: string;
        };
        Element: components["schemas"]["ArrowElement"] | components["schemas"]["CircleElement"] | components["schemas"]["EllipseElement"] | components["schemas"]["GriddataElement"] | components["schemas"]["HeatmapElement"] | components["schemas"]["PointElement"] | components["schemas"]["PolylineElement"] | components["schemas"]["RectangleElement"] | components["schemas"]["RectanglegridElement"] | components["schemas"]["ImageElement"] | components["schemas"]["PixelmapElement"];
        ElementChange: {
            ids: string[];
            added: number;
            replaced: number;
            removed: number;
            _version: number;
            _elementCount: number;
            _detailsCount: number;
            groups?: (string | null)[];
            /** Format: date-time */
            updated?: string;
        };
        EllipseElement: {
            /** @constant */
            type: "ellipse";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            center: number[];
            width: number;
            height: number;
            rotation?: number;
            normal?: number[];
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
            pattern?: string;
        };
        Error: {
            message: string;
            /** @enum {string} */
            type: "rest" | "validation" | "access" | "internal";
            field?: string;
            uid?: string;
            extra?: {
                [key: string]: unknown;
            };
        };
        FeatureCollection: {
            /** @constant */
            type: "FeatureCollection";
            features: {
                /** @constant */
                type: "Feature";
                geometry: {
                    [key: string]: unknown;
                };
                properties: {
                    [key: string]: unknown;
                };
            }[];
        };
        File: {
            _id: string;
            name: string;
            itemId: string | null;
            exts: string[];
            /** Format: date-time */
            created: string;
            /** @constant */
            _modelType: "file";
            mimeType?: string | null;
            size?: number;
            creatorId?: string | null;
            /** Format: date-time */
            updated?: string;
            linkUrl?: string;
            assetstoreId?: string;
        };
        Folder: {
            _id: string;
            name: string;
            description: string | null;
            parentId: string;
            /** @enum {string} */
            parentCollection: "folder" | "collection" | "user";
            /** @enum {string} */
            baseParentType: "collection" | "user";
            baseParentId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            updated: string;
            size: number;
            meta: {
                [key: string]: unknown;
            };
            public: boolean;
            /** @enum {integer} */
            _accessLevel: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType: "folder";
            creatorId?: string | null;
            publicFlags?: string[];
        };
        Frame: {
            Frame: number;
            Index: number;
            IndexC?: number;
            IndexZ?: number;
            IndexT?: number;
            IndexXY?: number;
            Channel?: string;
            ChannelColor?: string;
        };
        GeoJson: {
            /** @enum {string} */
            type: "FeatureCollection" | "Feature" | "Point" | "MultiPoint" | "LineString" | "MultiLineString" | "Polygon" | "MultiPolygon";
            features?: {
                [key: string]: unknown;
            }[];
        };
        GriddataElement: {
            /** @constant */
            type: "griddata";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            gridWidth: number;
            values: number[];
            /** @enum {string} */
            interpretation?: "heatmap" | "contour" | "choropleth";
            origin?: number[];
            dx?: number;
            dy?: number;
            radius?: number;
            scaleWithZoom?: boolean;
            colorRange?: string[];
            rangeValues?: number[];
            normalizeRange?: boolean;
            stepped?: boolean;
            /** Color */
            minColor?: string;
            /** Color */
            maxColor?: string;
        };
        Group: {
            _id: string;
            name: string;
            description: string;
            public: boolean;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            updated: string;
            /** @enum {integer} */
            _accessLevel: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType: "group";
        };
        HeatmapElement: {
            /** @constant */
            type: "heatmap";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            points: number[][];
            radius?: number;
            colorRange?: string[];
            rangeValues?: number[];
            normalizeRange?: boolean;
            scaleWithZoom?: boolean;
        };
        HistogramBand: {
            min: number | null;
            max: number | null;
            mean: number | null;
            stdev: number | null;
            range: number[];
            bins: number;
            hist: number[];
            bin_edges: number[];
            samples: number;
            density: boolean;
            thresholds?: number[];
        };
        IiifCanvas: {
            /** Format: uri */
            id: string;
            /** @constant */
            type: "Canvas";
            label: components["schemas"]["IiifTexts"];
            width: number;
            height: number;
            thumbnail: components["schemas"]["IiifImage"][];
            items: {
                /** Format: uri */
                id: string;
                /** @constant */
                type: "AnnotationPage";
                items: {
                    /** Format: uri */
                    id: string;
                    /** @constant */
                    type: "Annotation";
                    /** @constant */
                    motivation: "painting";
                    body: components["schemas"]["IiifImage"] | {
                        /** @constant */
                        type: "Choice";
                        items: components["schemas"]["IiifImage"][];
                    };
                    /** Format: uri */
                    target: string;
                }[];
            }[];
            service?: {
                /** Format: uri */
                "@context": string;
                /** Format: uri */
                id: string;
                /** @constant */
                type: "PhysicalDimensions";
                /** Format: uri */
                profile: string;
                physicalScale: number;
                /** @constant */
                physicalUnits: "mm";
            }[];
        };
        IiifCollection: {
            /** Format: uri */
            "@context": string;
            /** Format: uri */
            id: string;
            /** @constant */
            type: "Collection";
            label: components["schemas"]["IiifTexts"];
            items: {
                /** Format: uri */
                id: string;
                /** @enum {string} */
                type: "Collection" | "Manifest";
                label: components["schemas"]["IiifTexts"];
                thumbnail?: components["schemas"]["IiifImage"][];
            }[];
        };
        IiifImage: {
            /** Format: uri */
            id: string;
            /** @constant */
            type: "Image";
            /** @constant */
            format: "image/jpeg";
            service: {
                /** Format: uri */
                id: string;
                /** @constant */
                type: "ImageService3";
                /** @constant */
                profile: "level2";
            }[];
            width?: number;
            height?: number;
            label?: components["schemas"]["IiifTexts"];
        };
        IiifImageInformation: {
            /** Format: uri */
            "@context": string;
            /** Format: uri */
            id: string;
            /** @constant */
            type: "ImageService3";
            /** Format: uri */
            protocol: string;
            /** @constant */
            profile: "level2";
            width: number;
            height: number;
            maxWidth: number;
            maxHeight: number;
            maxArea: number;
            sizes: {
                width: number;
                height: number;
            }[];
            tiles: {
                width: number;
                height: number;
                scaleFactors: number[];
            }[];
            extraQualities: string[];
            extraFormats: string[];
            extraFeatures: string[];
            partOf: {
                /** Format: uri */
                id: string;
                /** @constant */
                type: "Manifest";
            }[];
            /** Format: uri */
            rights?: string;
        };
        IiifManifest: {
            /** Format: uri */
            "@context": string;
            /** Format: uri */
            id: string;
            /** @constant */
            type: "Manifest";
            label: components["schemas"]["IiifTexts"];
            items: components["schemas"]["IiifCanvas"][];
            summary?: components["schemas"]["IiifTexts"];
            metadata?: {
                label: components["schemas"]["IiifTexts"];
                value: components["schemas"]["IiifTexts"];
            }[];
            /** Format: uri */
            rights?: string;
            requiredStatement?: {
                label: components["schemas"]["IiifTexts"];
                value: components["schemas"]["IiifTexts"];
            };
            thumbnail?: components["schemas"]["IiifImage"][];
            partOf?: {
                /** Format: uri */
                id: string;
                /** @constant */
                type: "Collection";
            }[];
        };
        IiifTexts: {
            [key: string]: string[];
        };
        ImageElement: {
            /** @constant */
            type: "image";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            girderId: string;
            opacity?: number;
            hasAlpha?: boolean;
            transform?: {
                xoffset?: number;
                yoffset?: number;
                matrix?: number[][];
            };
        };
        Item: {
            _id: string;
            name: string;
            folderId: string;
            description?: string | null;
            creatorId?: string | null;
            /** Format: date-time */
            created?: string;
            /** Format: date-time */
            updated?: string;
            size?: number;
            meta?: {
                [key: string]: unknown;
            };
            baseParentType?: string | null;
            baseParentId?: string | null;
            copyOfItem?: string;
            lowerName?: string | null;
            largeImage?: components["schemas"]["LargeImageMarker"] | null;
            largeImageRefused?: string;
            /** @constant */
            _modelType?: "item";
        };
        Job: {
            _id: string;
            title: string;
            type: string;
            /** @enum {integer} */
            status: 0 | 1 | 2 | 3 | 4 | 5 | 820 | 821 | 822 | 823 | 824;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            updated: string;
            /** Format: date-time */
            when?: string;
            interval?: number;
            progress?: null | {
                total?: number | null;
                current?: number | null;
                message?: string | null;
            };
            meta?: {
                [key: string]: unknown;
            };
            public?: boolean;
            parentId?: null | string;
            asynchronous?: boolean;
            timestamps?: {
                status?: number;
                /** Format: date-time */
                time?: string;
            }[];
            handler?: string | null;
            args?: unknown[];
            kwargs?: {
                [key: string]: unknown;
            };
            log?: string[];
            /** @enum {integer} */
            _accessLevel: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType: "job";
        };
        KeptFile: {
            _id: string;
            attachedToId: string;
            thumbnailKey: string;
            isLargeImageThumbnail?: boolean;
            isLargeImageData?: boolean;
        };
        LargeImage: {
            levels: number;
            sizeX: number;
            sizeY: number;
            tileWidth: number;
            tileHeight: number;
            magnification: number | null;
            mm_x: number | null;
            mm_y: number | null;
            dtype: string;
            bandCount: number;
            frames?: components["schemas"]["Frame"][];
            IndexRange?: {
                [key: string]: number;
            };
            IndexStride?: {
                [key: string]: number;
            };
            channels?: string[];
            channelmap?: {
                [key: string]: number;
            };
            magnificationComputed?: boolean;
            geospatial?: boolean;
            sourceLevels?: number;
            sourceSizeX?: number;
            sourceSizeY?: number;
            projection?: string | null;
            bounds?: {
                [key: string]: unknown;
            };
            sourceBounds?: {
                [key: string]: unknown;
            };
            bands?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
        };
        LargeImageMarker: {
            fileId?: string;
            sourceName?: string;
            originalId?: string;
            jobId?: string;
            expected?: boolean;
            notify?: boolean;
        };
        Link: {
            _id: string;
            subject: {
                /** @enum {string} */
                type: "item" | "folder";
                id: string;
            };
            name: string;
            prefix: string;
            opens: ("zarr" | "dicomweb" | "view")[];
            associated: boolean;
            makerId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires: string | null;
            /** Format: date-time */
            lastUsed: string | null;
        };
        LinkRequest: {
            name?: string;
            opens?: ("zarr" | "dicomweb" | "view")[];
            associated?: boolean;
            /** Format: date-time */
            expires?: string | null;
        };
        Message: {
            message: string;
        };
        NewLink: {
            _id: string;
            subject: {
                /** @enum {string} */
                type: "item" | "folder";
                id: string;
            };
            name: string;
            prefix: string;
            opens: ("zarr" | "dicomweb" | "view")[];
            associated: boolean;
            makerId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires: string | null;
            /** Format: date-time */
            lastUsed: string | null;
            token: string;
        };
        Notification: {
            _id: string;
            type: string;
            data: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            time: string;
            /** Format: date-time */
            updated: string;
            startTime: number;
            updatedTime: number;
            /** Format: date-time */
            expires?: string;
            userId?: string;
            tokenId?: string;
        };
        Pixel: {
            value?: (number | null)[];
            l?: number;
            r?: number;
            g?: number;
            b?: number;
            a?: number;
            frame?: number;
        };
        PixelmapElement: {
            /** @constant */
            type: "pixelmap";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            girderId: string;
            opacity?: number;
            hasAlpha?: boolean;
            transform?: {
                xoffset?: number;
                yoffset?: number;
                matrix?: number[][];
            };
            values: number[];
            categories: {
                /** Color */
                fillColor: string;
                /** Color */
                strokeColor?: string;
                label?: string;
                description?: string;
            }[];
            boundaries: boolean;
        };
        PointElement: {
            /** @constant */
            type: "point";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            center: number[];
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
        };
        PolylineElement: {
            /** @constant */
            type: "polyline";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            points: number[][];
            closed?: boolean;
            holes?: number[][][];
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
            pattern?: string;
        };
        QuadInfo: {
            metadata: components["schemas"]["LargeImage"];
            options: {
                [key: string]: unknown;
            };
            src: {
                [key: string]: unknown;
            }[];
            quads?: {
                ul: {
                    x: number;
                    y: number;
                    z: number;
                };
                lr: {
                    x: number;
                    y: number;
                    z: number;
                };
                crop: {
                    [key: string]: number;
                };
            }[];
            quadsToIdx?: number[];
            frames?: number[];
            framesToIdx?: {
                [key: string]: number;
            };
            minLevel?: number;
            cached?: boolean[];
            scheduledJob?: string;
        };
        RectangleElement: {
            /** @constant */
            type: "rectangle";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            center: number[];
            width: number;
            height: number;
            rotation?: number;
            normal?: number[];
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
            pattern?: string;
        };
        RectanglegridElement: {
            /** @constant */
            type: "rectanglegrid";
            id?: string;
            label?: {
                value: string;
                /** @enum {string} */
                visibility?: "hidden" | "always" | "onhover";
                fontSize?: number;
                /** Color */
                color?: string;
            };
            group?: string;
            user?: {
                [key: string]: unknown;
            };
            center: number[];
            width: number;
            height: number;
            rotation?: number;
            normal?: number[];
            /** Color */
            lineColor?: string;
            lineWidth?: number;
            /** Color */
            fillColor?: string;
            pattern?: string;
            widthSubdivisions: number;
            heightSubdivisions: number;
        };
        Resource: components["schemas"]["Item"] | components["schemas"]["Folder"] | components["schemas"]["Collection"] | components["schemas"]["User"];
        ShownDocument: {
            name?: string;
            description?: string;
            display?: {
                visible?: "new" | boolean;
            };
            attributes?: {
                [key: string]: unknown;
            };
            elements?: (components["schemas"]["Element"] | {
                [key: string]: unknown;
            })[];
        };
        StoredJob: {
            _id: string;
            title: string;
            type: string;
            /** @enum {integer} */
            status: 0 | 1 | 2 | 3 | 4 | 5 | 820 | 821 | 822 | 823 | 824;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            updated: string;
            /** Format: date-time */
            when?: string;
            interval?: number;
            progress?: null | {
                total?: number | null;
                current?: number | null;
                message?: string | null;
            };
            meta?: {
                [key: string]: unknown;
            };
            public?: boolean;
            parentId?: null | string;
            asynchronous?: boolean;
            timestamps?: {
                status?: number;
                /** Format: date-time */
                time?: string;
            }[];
            handler?: string | null;
            args?: unknown[];
            kwargs?: {
                [key: string]: unknown;
            };
            log?: string[];
            userId?: string | null;
            access?: {
                [key: string]: {
                    [key: string]: unknown;
                }[];
            };
            module?: string;
            function?: string | null;
            results?: {
                [key: string]: unknown;
            };
        };
        Token: {
            token: string;
            /** Format: date-time */
            expires: string;
            scope?: string[];
        };
        Upload: {
            _id: string;
            name: string;
            size: number;
            received: number;
            mimeType: string;
            /** @enum {string} */
            parentType: "folder" | "item";
            parentId: string;
            userId: string | null;
            assetstoreId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            updated: string;
            reference?: string;
            fileId?: string;
            attachParent?: boolean;
        };
        User: {
            _id: string;
            login: string;
            firstName: string;
            lastName: string;
            admin: boolean;
            public: boolean;
            /** Format: date-time */
            created: string;
            /** @enum {integer} */
            _accessLevel: -1 | 0 | 1 | 2;
            /** @constant */
            _modelType: "user";
            email?: string;
            groups?: string[];
            groupInvites?: {
                groupId: string;
                level: number;
            }[];
            /** @enum {string} */
            status?: "enabled" | "pending" | "disabled";
            emailVerified?: boolean;
            size?: number;
            otp?: boolean;
        };
        ZarrDocument: {
            [key: string]: unknown;
        };
        Answers: {
            "GET annotation": components["schemas"]["Annotation"][];
            "POST annotation": components["schemas"]["Annotation"];
            "GET annotation/counts": {
                referenced?: {
                    [key: string]: boolean;
                };
            } & {
                [key: string]: number | {
                    [key: string]: boolean;
                };
            };
            "GET annotation/folder/{id}": components["schemas"]["Annotation"][];
            "DELETE annotation/folder/{id}": {
                deleted?: number;
            };
            "PUT annotation/folder/{id}/access": {
                updated?: number;
            };
            "GET annotation/folder/{id}/create": boolean;
            "GET annotation/folder/{id}/present": boolean;
            "GET annotation/images": components["schemas"]["Item"][];
            "GET annotation/item/{id}": components["schemas"]["Annotation"][];
            "POST annotation/item/{id}": number;
            "DELETE annotation/item/{id}": number;
            "POST annotation/item/{id}/plot/data": {
                columns: {
                    key: string;
                    title: string;
                    /** @enum {string} */
                    type: "number" | "string";
                    count: number;
                    distinct?: unknown[];
                    distinctcount?: number;
                    min?: number;
                    max?: number;
                    index?: number;
                }[];
                data: (string | number | boolean | null)[][];
            } | null;
            "POST annotation/item/{id}/plot/list": {
                key: string;
                title: string;
                /** @enum {string} */
                type: "number" | "string";
                count: number;
                distinct?: unknown[];
                distinctcount?: number;
                min?: number;
                max?: number;
                index?: number;
            }[] | null;
            "GET annotation/old": {
                active?: number;
                recentVersions?: number;
                oldVersions?: number;
                fromDeletedItems?: number;
                abandonedVersions?: number;
                removedVersions?: number;
                complete?: boolean;
            };
            "DELETE annotation/old": {
                active?: number;
                recentVersions?: number;
                oldVersions?: number;
                fromDeletedItems?: number;
                abandonedVersions?: number;
                removedVersions?: number;
                complete?: boolean;
            };
            "GET annotation/schema": {
                [key: string]: unknown;
            };
            "GET annotation/{id}": components["schemas"]["Annotation"];
            "PUT annotation/{id}": components["schemas"]["Annotation"];
            "PATCH annotation/{id}": null;
            "DELETE annotation/{id}": null;
            "GET annotation/{id}/access": components["schemas"]["AccessList"];
            "PUT annotation/{id}/access": components["schemas"]["Annotation"];
            "POST annotation/{id}/copy": components["schemas"]["Annotation"];
            "POST annotation/{id}/elements": components["schemas"]["ElementChange"];
            "PATCH annotation/{id}/elements": components["schemas"]["ElementChange"];
            "GET annotation/{id}/elements/{elementId}": components["schemas"]["Element"];
            "PUT annotation/{id}/elements/{elementId}": components["schemas"]["ElementChange"];
            "PATCH annotation/{id}/elements/{elementId}": components["schemas"]["ElementChange"];
            "DELETE annotation/{id}/elements/{elementId}": components["schemas"]["ElementChange"];
            "GET annotation/{id}/history": components["schemas"]["Annotation"][];
            "PUT annotation/{id}/history/revert": components["schemas"]["Annotation"];
            "GET annotation/{id}/history/{version}": components["schemas"]["Annotation"];
            "PUT annotation/{id}/metadata": components["schemas"]["Annotation"];
            "DELETE annotation/{id}/metadata": components["schemas"]["Annotation"];
            "GET annotation/{id}/tiles": {
                sizeX: number;
                sizeY: number;
                tileWidth: number;
                tileHeight: number;
                levels: number;
                elementCount: number;
                version: number;
                groups: {
                    name: string | null;
                    color: string;
                    count: number;
                }[];
                densityBelow?: number;
                vectorExtent?: number;
            };
            "GET annotation/{id}/{format}": components["schemas"]["FeatureCollection"];
            "GET api_key": components["schemas"]["ApiKey"][];
            "POST api_key": components["schemas"]["ApiKey"];
            "POST api_key/token": {
                user: {
                    _id: string;
                };
                authToken: components["schemas"]["Token"];
            };
            "PUT api_key/{id}": components["schemas"]["ApiKey"];
            "DELETE api_key/{id}": components["schemas"]["Message"];
            "GET assetstore": {
                _id: string;
                name: string;
                type: number;
                root: string;
                current: boolean;
                /** Format: date-time */
                created: string;
                capacity: {
                    free: number;
                    total: number;
                } | null;
            }[];
            "GET collection": components["schemas"]["Collection"][];
            "POST collection": components["schemas"]["Collection"];
            "GET collection/details": {
                nCollections: number;
            };
            "PUT collection/{id}": components["schemas"]["Collection"];
            "GET collection/{id}": components["schemas"]["Collection"];
            "DELETE collection/{id}": components["schemas"]["Message"];
            "GET collection/{id}/access": components["schemas"]["AccessList"];
            "PUT collection/{id}/access": components["schemas"]["Collection"] & {
                access: components["schemas"]["AccessList"];
            };
            "GET collection/{id}/details": {
                nFolders: number;
            };
            "PUT collection/{id}/metadata": components["schemas"]["Collection"];
            "DELETE collection/{id}/metadata": components["schemas"]["Collection"];
            "GET describe": {
                [key: string]: unknown;
            };
            "GET describe/openapi.json": {
                [key: string]: unknown;
            };
            "POST file": components["schemas"]["File"] | components["schemas"]["Upload"];
            "POST file/chunk": components["schemas"]["File"] | components["schemas"]["Upload"];
            "POST file/completion": components["schemas"]["File"];
            "GET file/offset": {
                offset: number;
            };
            "GET file/query": components["schemas"]["File"][];
            "DELETE file/upload/{id}": components["schemas"]["Message"];
            "GET file/{id}": components["schemas"]["File"];
            "PUT file/{id}": components["schemas"]["File"];
            "DELETE file/{id}": null;
            "PUT file/{id}/contents": components["schemas"]["File"] | components["schemas"]["Upload"];
            "POST file/{id}/copy": components["schemas"]["File"];
            "GET folder": components["schemas"]["Folder"][];
            "POST folder": components["schemas"]["Folder"];
            "GET folder/query": components["schemas"]["Folder"][];
            "GET folder/{folderId}/link": components["schemas"]["Link"][];
            "POST folder/{folderId}/link": components["schemas"]["NewLink"];
            "GET folder/{folderId}/zarr/t/{token}/{path}": components["schemas"]["ZarrDocument"];
            "GET folder/{folderId}/zarr/{path}": components["schemas"]["ZarrDocument"];
            "GET folder/{folderId}/zarr2/t/{token}/{path}": components["schemas"]["ZarrDocument"];
            "GET folder/{folderId}/zarr2/{path}": components["schemas"]["ZarrDocument"];
            "PUT folder/{id}": components["schemas"]["Folder"];
            "GET folder/{id}": components["schemas"]["Folder"];
            "DELETE folder/{id}": components["schemas"]["Message"];
            "GET folder/{id}/access": components["schemas"]["AccessList"];
            "PUT folder/{id}/access": components["schemas"]["Folder"] & {
                access: components["schemas"]["AccessList"];
            };
            "DELETE folder/{id}/contents": components["schemas"]["Message"];
            "POST folder/{id}/copy": components["schemas"]["Folder"];
            "GET folder/{id}/details": {
                nItems: number;
                nFolders: number;
            };
            "PUT folder/{id}/metadata": components["schemas"]["Folder"];
            "DELETE folder/{id}/metadata": components["schemas"]["Folder"];
            "GET folder/{id}/rootpath": {
                /** @enum {string} */
                type: "collection" | "user" | "folder";
                object: components["schemas"]["Resource"];
            }[];
            "GET folder/{id}/yaml_config/{name}": unknown;
            "PUT folder/{id}/yaml_config/{name}": null;
            "GET group": components["schemas"]["Group"][];
            "POST group": components["schemas"]["Group"];
            "GET group/{id}": components["schemas"]["Group"];
            "PUT group/{id}": components["schemas"]["Group"];
            "DELETE group/{id}": components["schemas"]["Message"];
            "GET group/{id}/access": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "POST group/{id}/admin": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "DELETE group/{id}/admin": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "GET group/{id}/invitation": components["schemas"]["User"][];
            "POST group/{id}/invitation": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "GET group/{id}/member": components["schemas"]["User"][];
            "POST group/{id}/member": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "DELETE group/{id}/member": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "POST group/{id}/moderator": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "DELETE group/{id}/moderator": {
                access: components["schemas"]["AccessList"];
                requests: {
                    id: string;
                    login: string;
                    name: string;
                }[];
            };
            "GET iiif/folder/{folderId}/collection.json": components["schemas"]["IiifCollection"];
            "GET iiif/folder/{folderId}/manifest.json": components["schemas"]["IiifManifest"];
            "GET iiif/{identifier}/info.json": components["schemas"]["IiifImageInformation"];
            "GET iiif/{identifier}/manifest.json": components["schemas"]["IiifManifest"];
            "GET item": components["schemas"]["Item"][];
            "POST item": components["schemas"]["Item"];
            "GET item/query": components["schemas"]["Item"][];
            "GET item/test/tiles": components["schemas"]["LargeImage"];
            "PUT item/{id}": components["schemas"]["Item"];
            "GET item/{id}": components["schemas"]["Item"];
            "DELETE item/{id}": components["schemas"]["Message"];
            "GET item/{id}/adjacent_images": {
                previous: components["schemas"]["Item"];
                next: components["schemas"]["Item"];
                index: number;
                count: number;
            };
            "POST item/{id}/copy": components["schemas"]["Item"];
            "GET item/{id}/files": components["schemas"]["File"][];
            "GET item/{id}/first_image": components["schemas"]["Item"];
            "PUT item/{id}/metadata": components["schemas"]["Item"];
            "DELETE item/{id}/metadata": components["schemas"]["Item"];
            "GET item/{id}/next_image": components["schemas"]["Item"];
            "GET item/{id}/position": number;
            "GET item/{id}/previous_image": components["schemas"]["Item"];
            "GET item/{id}/rootpath": {
                /** @enum {string} */
                type: "collection" | "user" | "folder";
                object: components["schemas"]["Resource"];
            }[];
            "GET item/{itemId}/dicomweb": {
                studyInstanceUID: string;
                seriesInstanceUIDs: string[];
                url: string;
            };
            "GET item/{itemId}/internal_metadata/{key}": unknown;
            "PUT item/{itemId}/internal_metadata/{key}": null;
            "DELETE item/{itemId}/internal_metadata/{key}": null;
            "GET item/{itemId}/link": components["schemas"]["Link"][];
            "POST item/{itemId}/link": components["schemas"]["NewLink"];
            "GET item/{itemId}/tiles": components["schemas"]["LargeImage"];
            "POST item/{itemId}/tiles": components["schemas"]["Job"] | null;
            "DELETE item/{itemId}/tiles": {
                deleted: boolean;
            };
            "GET item/{itemId}/tiles/bands": {
                [key: string]: {
                    interpretation: string;
                    min: number | null;
                    max: number | null;
                    mean: number | null;
                    stdev: number | null;
                };
            };
            "POST item/{itemId}/tiles/convert": components["schemas"]["Job"];
            "GET item/{itemId}/tiles/histogram": components["schemas"]["HistogramBand"][] | {
                cached: boolean[];
                scheduledJob?: string;
            };
            "GET item/{itemId}/tiles/images": string[];
            "GET item/{itemId}/tiles/images/{image}/metadata": {
                sizeX?: number;
                sizeY?: number;
                mode?: string;
                format?: string;
            };
            "GET item/{itemId}/tiles/internal_metadata": {
                [key: string]: unknown;
            };
            "GET item/{itemId}/tiles/item": {
                _id: string;
                name: string;
                folderId: string;
                /** Format: date-time */
                updated: string;
            };
            "GET item/{itemId}/tiles/pixel": components["schemas"]["Pixel"] | components["schemas"]["Pixel"][];
            "GET item/{itemId}/tiles/thumbnails": components["schemas"]["KeptFile"][];
            "DELETE item/{itemId}/tiles/thumbnails": (number | components["schemas"]["KeptFile"] | null)[];
            "POST item/{itemId}/tiles/thumbnails": components["schemas"]["KeptFile"];
            "GET item/{itemId}/tiles/tile_frames/quad_info": components["schemas"]["QuadInfo"];
            "GET item/{itemId}/zarr/t/{token}/{path}": components["schemas"]["ZarrDocument"];
            "GET item/{itemId}/zarr/{path}": components["schemas"]["ZarrDocument"];
            "GET item/{itemId}/zarr2/t/{token}/{path}": components["schemas"]["ZarrDocument"];
            "GET item/{itemId}/zarr2/{path}": components["schemas"]["ZarrDocument"];
            "GET job": components["schemas"]["Job"][];
            "POST job": components["schemas"]["Job"];
            "GET job/all": components["schemas"]["Job"][];
            "GET job/typeandstatus": {
                types?: string[];
                statuses?: number[];
            };
            "GET job/typeandstatus/all": {
                types?: string[];
                statuses?: number[];
            };
            "GET job/{id}": components["schemas"]["Job"];
            "PUT job/{id}": components["schemas"]["Job"];
            "DELETE job/{id}": null;
            "PUT job/{id}/cancel": components["schemas"]["Job"];
            "GET large_image/associated_images": number;
            "DELETE large_image/associated_images": number;
            "GET large_image/cache": {
                [key: string]: {
                    maxsize: number;
                    used: number;
                    items?: number;
                    processes?: number;
                    available?: boolean;
                    errors?: number;
                    error?: string;
                };
            };
            "PUT large_image/cache/clear": {
                /** Format: date-time */
                cacheCleared: string;
                before: {
                    [key: string]: {
                        maxsize: number;
                        used: number;
                        items?: number;
                        processes?: number;
                        available?: boolean;
                        errors?: number;
                        error?: string;
                    };
                };
                after: {
                    [key: string]: {
                        maxsize: number;
                        used: number;
                        items?: number;
                        processes?: number;
                        available?: boolean;
                        errors?: number;
                        error?: string;
                    };
                };
            };
            "GET large_image/config": {
                path: string;
                exists: boolean;
                text: string;
                version: string;
                backups: string[];
                canRestart: boolean;
            };
            "POST large_image/config/format": string;
            "POST large_image/config/replace": {
                /** @enum {string} */
                status?: "no change" | "updated";
                /** Format: date-time */
                time?: string;
                /** Format: date-time */
                restarted?: string;
            };
            "POST large_image/config/validate": {
                line: number;
                message: string;
            }[];
            "PUT large_image/folder/{folderId}/tiles": {
                childFoldersRecursed: number;
                itemsSkipped: number;
                jobsCanceled: number;
                jobsFailedToCancel: number;
                largeImagesCreated: number;
                largeImagesNotCreated: number;
                largeImagesRemovedAndRecreated: number;
                largeImagesRemovedAndNotRecreated: number;
                totalItems: number;
                jobId?: string;
            };
            "GET large_image/histograms": number;
            "DELETE large_image/histograms": number;
            "GET large_image/settings": {
                [key: string]: unknown;
            };
            "GET large_image/sources": {
                [key: string]: {
                    extensions: {
                        [key: string]: number;
                    };
                    mimeTypes: {
                        [key: string]: number;
                    };
                    version?: string;
                };
            };
            "GET large_image/thumbnails": number;
            "PUT large_image/thumbnails": components["schemas"]["StoredJob"];
            "DELETE large_image/thumbnails": number;
            "DELETE large_image/tiles/incomplete": {
                removed: number;
                message?: string;
            };
            "GET large_image/tiles/refused": {
                itemId: string;
                folderId: string;
                name: string;
                reason: string;
            }[];
            "GET link/{linkId}": components["schemas"]["Link"];
            "PUT link/{linkId}": components["schemas"]["Link"];
            "DELETE link/{linkId}": null;
            "GET notification": components["schemas"]["Notification"][];
            "GET oauth/provider": string[] | {
                [key: string]: string;
            };
            "DELETE resource": null;
            "POST resource/copy": null;
            "GET resource/lookup": components["schemas"]["Resource"] | null;
            "PUT resource/move": null;
            "POST resource/paths": {
                [key: string]: {
                    [key: string]: string;
                };
            };
            "GET resource/search": ({
                collection?: components["schemas"]["Collection"][];
                folder?: components["schemas"]["Folder"][];
                item?: components["schemas"]["Item"][];
                user?: components["schemas"]["User"][];
                group?: components["schemas"]["Group"][];
            } & {
                [key: string]: (components["schemas"]["Resource"] | components["schemas"]["Group"])[];
            }) | null[];
            "GET resource/{id}": components["schemas"]["Resource"];
            "GET resource/{id}/path": string;
            "PUT resource/{id}/timestamp": components["schemas"]["Resource"];
            "GET system/access_flag": {
                [key: string]: {
                    name: string;
                    description: string;
                    admin: boolean;
                };
            };
            "GET system/check": {
                /** Format: date-time */
                bootTime: string;
                /** Format: date-time */
                currentTime: string;
                uptimeSeconds: number;
                database: string;
            };
            "GET system/configuration": unknown;
            "GET system/plugin_static_files": {
                css: string[];
                js: string[];
            };
            "GET system/plugins": {
                all: {
                    [key: string]: {
                        name: string;
                        description: string;
                        url: string;
                        version: string;
                    };
                };
                loaded: string[];
            };
            "GET system/public_settings": {
                [key: string]: unknown;
            };
            "POST system/rescan": {
                files: number;
                added: number;
                moved: number;
                changed: number;
                missing: number;
            };
            "GET system/setting": unknown;
            "PUT system/setting": boolean;
            "DELETE system/setting": null;
            "GET system/setting/collection_creation_policy/access": components["schemas"]["AccessList"];
            "GET system/setting/default": unknown;
            "GET system/setting/definitions": {
                key: string;
                description: string;
                allowed: string;
                schema: {
                    /** @enum {string} */
                    type?: "boolean" | "integer" | "number" | "string" | "object";
                    minimum?: number;
                    maximum?: number;
                    maxLength?: number;
                    format?: string;
                    "x-unit"?: string;
                    enum?: unknown[];
                };
                value: unknown;
                default: unknown;
            }[];
            "GET system/uploads": components["schemas"]["Upload"][];
            "DELETE system/uploads": components["schemas"]["Upload"][];
            "GET system/version": {
                release: string;
                apiVersion: string;
                /** Format: date-time */
                serverStartDate: string;
            };
            "GET token/current": components["schemas"]["CurrentToken"] | null;
            "GET token/scopes": {
                [key: string]: {
                    id: string;
                    name: string;
                    description: string;
                }[];
            };
            "GET token/session": components["schemas"]["Token"];
            "DELETE token/session": components["schemas"]["Message"];
            "GET user": components["schemas"]["User"][];
            "POST user": components["schemas"]["User"] & {
                authToken?: components["schemas"]["Token"];
            };
            "GET user/authentication": {
                user: components["schemas"]["User"];
                authToken: components["schemas"]["Token"];
                message: string;
            };
            "DELETE user/authentication": components["schemas"]["Message"];
            "POST user/authentication/link": {
                user: components["schemas"]["User"];
                authToken: components["schemas"]["Token"];
                message: string;
            };
            "GET user/details": {
                nUsers: number;
            };
            "GET user/me": components["schemas"]["User"] | null;
            "PUT user/password": components["schemas"]["Message"];
            "PUT user/{id}": components["schemas"]["User"];
            "GET user/{id}": components["schemas"]["User"];
            "DELETE user/{id}": components["schemas"]["Message"];
            "GET user/{id}/details": {
                nFolders: number;
            };
            "PUT user/{id}/password": null;
            "GET worker/status": {
                ping: {
                    [key: string]: {
                        ok: string;
                    };
                };
                running: number;
                queued: number;
            };
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
