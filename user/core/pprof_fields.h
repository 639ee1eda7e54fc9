/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_fields: the numbers of the fields of pprof's messages, as profile.proto has them:
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * All fields are varints but those whose comment says otherwise.
 */
#ifndef CORE_PPROF_FIELDS_H
#define CORE_PPROF_FIELDS_H

enum pprof_profile_field {
	PROFILE_SAMPLE_TYPE = 1, /* ValueType, repeated */
	PROFILE_SAMPLE,		 /* Sample, repeated */
	PROFILE_MAPPING,	 /* Mapping, repeated */
	PROFILE_LOCATION,	 /* Location, repeated */
	PROFILE_FUNCTION,	 /* Function, repeated */
	PROFILE_STRING,		 /* string, repeated */
	PROFILE_DROP_FRAMES,
	PROFILE_KEEP_FRAMES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE, /* ValueType */
	PROFILE_PERIOD,
	PROFILE_COMMENT, /* packed */
	PROFILE_DEFAULT_TYPE,
};

enum pprof_type_field { TYPE_TYPE = 1, TYPE_UNIT, N_TYPE_FIELDS };

enum pprof_sample_field {
	SAMPLE_LOCATION_ID = 1, /* packed */
	SAMPLE_VALUE,		/* packed */
	SAMPLE_LABEL,		/* Label, repeated */
};

enum pprof_label_field { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_UNIT, N_LABEL_FIELDS };

enum pprof_mapping_field {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILENAME,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINED,
	N_MAPPING_FIELDS,
};

enum pprof_location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING,
	LOCATION_ADDRESS,
	LOCATION_LINE, /* Line, repeated */
	LOCATION_IS_FOLDED,
	N_LOCATION_FIELDS,
};

enum pprof_line_field { LINE_FUNCTION = 1, LINE_LINE, N_LINE_FIELDS };

enum pprof_function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILENAME,
	FUNCTION_START_LINE,
	N_FUNCTION_FIELDS,
};

#endif
