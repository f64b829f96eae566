package write

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class is what a refused write means. It follows from codes, reasons and
// causes and never from the text of a message.
type Class int

const (
	// Other is an error of no particular kind.
	Other Class = iota
	// Stale says that the object is not the one that was read.
	Stale
	// Taken says that fields belong to other managers.
	Taken
	// Unprocessable says that the server understood and refused the content.
	Unprocessable
	// Denied says that we may not.
	Denied
	// Leaving says that the namespace is going away.
	Leaving
	// Untyped says that the server does not know the kind, or has no objects of it.
	Untyped
)

// Classify returns the class of an error of a [Writer].
func Classify(err error) Class {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return Leaving
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return Taken
	case meta.IsNoMatchError(err), isUnserved(err):
		return Untyped
	}
	switch code(err) {
	case http.StatusConflict, http.StatusNotFound:
		return Stale
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	case http.StatusUnprocessableEntity:
		if fields := Fields(err, ""); len(fields) == 1 && fields[0] == "metadata.uid" {
			return Stale
		}
		return Unprocessable
	}
	return Other
}

// isUnserved reports whether nothing answers where objects of the kind would be:
// there are kinds that can only be asked, such as reviews of access. The server
// then names nothing that it did not find.
func isUnserved(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Kind == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// Fields returns the fields that the server names as causes of the given type,
// or of any type when it is empty.
func Fields(err error, cause metav1.CauseType) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" && (cause == "" || c.Type == cause) {
			fields = append(fields, c.Field)
		}
	}
	return fields
}

// Changeless reports whether the causes of a refused update may be that fields
// cannot change: each is a forbidden or invalid value outside metadata.
func Changeless(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return false
	}
	for _, c := range status.Status().Details.Causes {
		forbidden := c.Type == metav1.CauseTypeForbidden || c.Type == metav1.CauseTypeFieldValueInvalid
		if !forbidden || strings.HasPrefix(c.Field, "metadata.") {
			return false
		}
	}
	return true
}
