#!/bin/sh
exec /app/backend --listen :8080
