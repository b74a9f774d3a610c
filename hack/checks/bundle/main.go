// Command bundle says what OLM's validators think of a bundle, one line each.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	"sigs.k8s.io/yaml"
)

// validators are all that there are, but one that downloads the operator's image, and two that say what others say.
var validators = interfaces.Validators{
	validation.ClusterServiceVersionValidator,
	validation.CustomResourceDefinitionValidator,
	validation.BundleValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCapabilitiesValidator,
	validation.StandardCategoriesValidator,
	validation.ObjectValidator,
	validation.OperatorGroupValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle DIRECTORY")
		os.Exit(2)
	}
	if err := validateBundle(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// validateBundle lists what the validators have to say, those for publication included, errors before warnings.
func validateBundle(directory string, out io.Writer) error {
	if err := decodeStrictly(directory); err != nil {
		return err
	}
	bundle, err := manifests.GetBundleFromDir(directory)
	if err != nil {
		return err
	}
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range result.Errors {
			fmt.Fprintf(out, "error: %s: %s\n", result.Name, problem.Error())
		}
		for _, problem := range result.Warnings {
			fmt.Fprintf(out, "warning: %s: %s\n", result.Name, problem.Error())
		}
	}
	return nil
}

// decodeStrictly finds fields that a ClusterServiceVersion does not have, which the validators pass over.
func decodeStrictly(directory string) error {
	paths, err := filepath.Glob(filepath.Join(directory, "manifests", "*.clusterserviceversion.yaml"))
	for _, path := range paths {
		text, readError := os.ReadFile(path)
		if err = readError; err == nil {
			err = yaml.UnmarshalStrict(text, &v1alpha1.ClusterServiceVersion{})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}
