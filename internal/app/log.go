package app

import (
	"fmt"
	"io"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// trace is the level below debug.
const trace zapcore.Level = -2

// encoding is how Flux's controllers write times and levels.
func encoding(c *zapcore.EncoderConfig) {
	c.EncodeTime = zapcore.ISO8601TimeEncoder
	c.EncodeLevel = func(l zapcore.Level, to zapcore.PrimitiveArrayEncoder) {
		if l <= trace {
			to.AppendString("trace")
			return
		}
		zapcore.LowercaseLevelEncoder(l, to)
	}
}

// logger returns the logger that the flags ask for, which writes to w.
func (l *Log) logger(w io.Writer) (logr.Logger, error) {
	levels := map[string]zapcore.Level{
		"trace": trace, "debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "error": zapcore.ErrorLevel,
	}
	level, ok := levels[l.Level]
	if !ok {
		return logr.Logger{}, fmt.Errorf("--log-level: %q is none of trace, debug, info and error", l.Level)
	}
	opts := zap.Options{
		DestWriter: w, Level: uberzap.NewAtomicLevelAt(level), StacktraceLevel: zapcore.PanicLevel,
	}
	switch l.Encoding {
	case "json":
		zap.JSONEncoder(encoding)(&opts)
	case "console":
		zap.ConsoleEncoder(encoding)(&opts)
	default:
		return logr.Logger{}, fmt.Errorf("--log-encoding: %q is neither json nor console", l.Encoding)
	}
	return zap.New(zap.UseFlagOptions(&opts)), nil
}
