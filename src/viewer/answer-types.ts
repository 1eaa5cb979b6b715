// Made by test/rest/host/api-description.test.ts from the description of the API. To renew it: npx vitest run test/rest/host/api-description.test.ts -u
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
            _overlays?: true;
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
        AnnotationTable: {
            _version: number;
            rows: number;
            isCut: boolean;
            columns: {
                name: string;
                /** @enum {string} */
                type: "id" | "number" | "boolean" | "text";
                count: number;
                nulls: number;
                min?: number;
                max?: number;
                mean?: number;
                quantiles?: {
                    [key: string]: number;
                };
                distinct?: number;
                categories?: {
                    value: string | number | boolean | null;
                    count: number;
                }[];
            }[];
        };
        AnnotationTableHistogram: {
            _version: number;
            x: {
                column: string;
                low: number;
                high: number;
                bins: number;
            };
            y: {
                column: string;
                low: number;
                high: number;
                bins: number;
            } | null;
            by: string | null;
            categories: {
                value: string | number | boolean | null;
                counts: number[];
                nulls: number;
                outside: number;
            }[];
        };
        AnnotationTableIds: {
            _version: number;
            count: number;
            ids: string[];
        };
        AnnotationTableRows: {
            _version: number;
            total: number;
            offset: number;
            columns: string[];
            rows: (string | number | boolean | null)[][];
        };
        AnnotationTableSummary: {
            _version: number;
            by: string | null;
            categories: {
                value: string | number | boolean | null;
                count: number;
                columns: {
                    [key: string]: {
                        count: number;
                        mean: number | null;
                        deviation: number | null;
                        min: number | null;
                        max: number | null;
                    };
                };
            }[];
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
        Comment: {
            _id: string;
            itemId: string;
            threadId: string | null;
            text: string;
            place: components["schemas"]["CommentPlace"] | null;
            shape: {
                annotationId: string;
                elementId: string;
                available: boolean;
            } | null;
            author: components["schemas"]["CommentPerson"] | null;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            edited: string | null;
            version: number;
            /** @enum {string} */
            state: "open" | "resolved";
            resolved: {
                by: components["schemas"]["CommentPerson"] | null;
                /** Format: date-time */
                at: string;
            } | null;
            deleted: boolean;
            replies: number;
            mentions: components["schemas"]["CommentPerson"][];
            own: boolean;
            unread: boolean;
        };
        CommentMark: {
            _id: string;
            place: components["schemas"]["CommentPlace"];
            /** @enum {string} */
            state: "open" | "resolved";
        };
        CommentPerson: {
            id: string;
            login: string | null;
            name: string | null;
        };
        CommentPlace: {
            x: number;
            y: number;
            frame?: number;
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
        Extent: {
            folders: number;
            items: number;
            size: number;
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
            Position?: string;
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
        InboxComment: {
            _id: string;
            itemId: string;
            threadId: string | null;
            text: string;
            place: components["schemas"]["CommentPlace"] | null;
            shape: {
                annotationId: string;
                elementId: string;
                available: boolean;
            } | null;
            author: components["schemas"]["CommentPerson"] | null;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            edited: string | null;
            version: number;
            /** @enum {string} */
            state: "open" | "resolved";
            resolved: {
                by: components["schemas"]["CommentPerson"] | null;
                /** Format: date-time */
                at: string;
            } | null;
            deleted: boolean;
            replies: number;
            mentions: components["schemas"]["CommentPerson"][];
            own: boolean;
            unread: boolean;
            item: {
                _id: string;
                name: string;
                folderId: string;
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
            mm_z?: number;
            seconds_t?: number;
            pixelSizeEntered?: boolean;
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
            annotations: boolean;
            makerId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires: string | null;
            /** Format: date-time */
            lastUsed: string | null;
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
            annotations: boolean;
            makerId: string;
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires: string | null;
            /** Format: date-time */
            lastUsed: string | null;
            token: string;
        };
        OpenedLink: {
            item: {
                _id: string;
                name: string;
                folderId: string;
                /** Format: date-time */
                updated: string;
                meta: {
                    [key: string]: unknown;
                };
            };
            annotations: boolean;
            associated: boolean;
            /** Format: date-time */
            expires: string | null;
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
        RestoredDocument: {
            _id: string;
            /** @enum {string} */
            _modelType: "folder" | "item";
            name: string;
            /** @enum {string} */
            parentType: "folder" | "collection" | "user";
            parentId: string;
            isRenamed: boolean;
            isMoved: boolean;
        };
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
        TrashedDocument: {
            _id: string;
            /** @enum {string} */
            _modelType: "folder" | "item";
            name: string;
            path: string;
            /** Format: date-time */
            trashed: string;
            /** Format: date-time */
            expires: string | null;
            trashedBy: string | null;
            isComplete: boolean;
            isRemoving: boolean;
            folders?: number;
            items?: number;
            size?: number;
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
        Answers: {
            "GET annotation": components["schemas"]["Annotation"][];
            "POST annotation": components["schemas"]["Annotation"];
            "GET annotation/deleted": components["schemas"]["Annotation"][];
            "GET annotation/folder/{id}": components["schemas"]["Annotation"][];
            "PUT annotation/folder/{id}/access": {
                updated?: number;
            };
            "GET annotation/folder/{id}/create": boolean;
            "GET annotation/item/{id}": components["schemas"]["Annotation"][];
            "POST annotation/item/{id}": number;
            "GET annotation/{id}": components["schemas"]["Annotation"];
            "PATCH annotation/{id}": null;
            "DELETE annotation/{id}": null;
            "GET annotation/{id}/access": components["schemas"]["AccessList"];
            "PUT annotation/{id}/access": components["schemas"]["Annotation"];
            "PATCH annotation/{id}/elements": components["schemas"]["ElementChange"];
            "GET annotation/{id}/elements/{elementId}": components["schemas"]["Element"];
            "GET annotation/{id}/history": components["schemas"]["Annotation"][];
            "PUT annotation/{id}/history/revert": components["schemas"]["Annotation"];
            "GET annotation/{id}/table": components["schemas"]["AnnotationTable"];
            "GET annotation/{id}/table/histogram": components["schemas"]["AnnotationTableHistogram"];
            "POST annotation/{id}/table/ids": components["schemas"]["AnnotationTableIds"];
            "GET annotation/{id}/table/rows": components["schemas"]["AnnotationTableRows"];
            "GET annotation/{id}/table/summary": components["schemas"]["AnnotationTableSummary"];
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
                coloring?: {
                    count: number;
                    columns: {
                        [key: string]: string;
                    };
                    scale: {
                        low: number;
                        high: number;
                        colors: string[];
                        none: string;
                    } | null;
                    categories: {
                        value: string | boolean | null;
                        color: string;
                        count: number;
                    }[] | null;
                };
            };
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
            "PUT collection/{id}": components["schemas"]["Collection"];
            "GET collection/{id}": components["schemas"]["Collection"];
            "GET collection/{id}/access": components["schemas"]["AccessList"];
            "PUT collection/{id}/access": components["schemas"]["Collection"] & {
                access: components["schemas"]["AccessList"];
            };
            "PUT collection/{id}/metadata": components["schemas"]["Collection"];
            "GET comment/inbox": components["schemas"]["InboxComment"][];
            "PUT comment/inbox": {
                total: number;
                unread: number;
            };
            "GET comment/inbox/count": {
                total: number;
                unread: number;
            };
            "GET comment/{id}": components["schemas"]["Comment"];
            "PUT comment/{id}": components["schemas"]["Comment"];
            "DELETE comment/{id}": null;
            "GET comment/{id}/reply": components["schemas"]["Comment"][];
            "POST comment/{id}/reply": components["schemas"]["Comment"];
            "PUT comment/{id}/state": components["schemas"]["Comment"];
            "POST file": components["schemas"]["File"] | components["schemas"]["Upload"];
            "POST file/chunk": components["schemas"]["File"] | components["schemas"]["Upload"];
            "POST file/completion": components["schemas"]["File"];
            "GET file/offset": {
                offset: number;
            };
            "DELETE file/upload/{id}": components["schemas"]["Message"];
            "GET folder": components["schemas"]["Folder"][];
            "POST folder": components["schemas"]["Folder"];
            "GET folder/{folderId}/link": components["schemas"]["Link"][];
            "PUT folder/{id}": components["schemas"]["Folder"];
            "GET folder/{id}": components["schemas"]["Folder"];
            "GET folder/{id}/access": components["schemas"]["AccessList"];
            "PUT folder/{id}/access": components["schemas"]["Folder"] & {
                access: components["schemas"]["AccessList"];
            };
            "PUT folder/{id}/metadata": components["schemas"]["Folder"];
            "GET folder/{id}/rootpath": {
                /** @enum {string} */
                type: "collection" | "user" | "folder";
                object: components["schemas"]["Resource"];
            }[];
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
            "GET item": components["schemas"]["Item"][];
            "PUT item/{id}": components["schemas"]["Item"];
            "GET item/{id}": components["schemas"]["Item"];
            "DELETE item/{id}": components["schemas"]["Message"];
            "GET item/{id}/adjacent_images": {
                previous: components["schemas"]["Item"];
                next: components["schemas"]["Item"];
                index: number;
                count: number;
            };
            "GET item/{id}/files": components["schemas"]["File"][];
            "PUT item/{id}/metadata": components["schemas"]["Item"];
            "GET item/{id}/rootpath": {
                /** @enum {string} */
                type: "collection" | "user" | "folder";
                object: components["schemas"]["Resource"];
            }[];
            "GET item/{itemId}/comment": components["schemas"]["Comment"][];
            "POST item/{itemId}/comment": components["schemas"]["Comment"];
            "GET item/{itemId}/comment/places": components["schemas"]["CommentMark"][];
            "GET item/{itemId}/link": components["schemas"]["Link"][];
            "POST item/{itemId}/link": components["schemas"]["NewLink"];
            "GET item/{itemId}/tiles": components["schemas"]["LargeImage"];
            "POST item/{itemId}/tiles": components["schemas"]["Job"] | null;
            "GET item/{itemId}/tiles/histogram": components["schemas"]["HistogramBand"][] | {
                cached: boolean[];
                scheduledJob?: string;
            };
            "GET item/{itemId}/tiles/images": string[];
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
            "GET job/all": components["schemas"]["Job"][];
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
            "GET link/view": components["schemas"]["OpenedLink"];
            "DELETE link/{linkId}": null;
            "GET resource/extent": components["schemas"]["Extent"];
            "POST resource/paths": {
                [key: string]: {
                    [key: string]: string;
                };
            };
            "POST resource/restore": components["schemas"]["RestoredDocument"][];
            "GET resource/search": ({
                collection?: components["schemas"]["Collection"][];
                folder?: components["schemas"]["Folder"][];
                item?: components["schemas"]["Item"][];
                user?: components["schemas"]["User"][];
                group?: components["schemas"]["Group"][];
            } & {
                [key: string]: (components["schemas"]["Resource"] | components["schemas"]["Group"])[];
            }) | null[];
            "GET resource/shared": (components["schemas"]["Collection"] | components["schemas"]["Folder"])[];
            "PUT resource/state": null;
            "POST resource/trash": null;
            "GET system/check": {
                /** Format: date-time */
                bootTime: string;
                /** Format: date-time */
                currentTime: string;
                uptimeSeconds: number;
                database: string;
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
            "GET system/version": {
                release: string;
                apiVersion: string;
                /** Format: date-time */
                serverStartDate: string;
            };
            "GET trash": components["schemas"]["TrashedDocument"][];
            "DELETE trash": null;
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
            "GET user/me": components["schemas"]["User"] | null;
            "PUT user/password": components["schemas"]["Message"];
            "PUT user/{id}": components["schemas"]["User"];
            "GET user/{id}": components["schemas"]["User"];
            "DELETE user/{id}": components["schemas"]["Message"];
            "PUT user/{id}/password": null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
