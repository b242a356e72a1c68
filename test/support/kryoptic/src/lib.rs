//! Exports the entry of PKCS#11 2.40 (section 5.4, C_GetFunctionList), by which every caller finds the other functions.
use kryoptic_lib::fns::general::fn_get_function_list;
use kryoptic_lib::pkcs11::{CK_FUNCTION_LIST_PTR_PTR, CK_RV};

#[no_mangle]
pub extern "C" fn C_GetFunctionList(functions: CK_FUNCTION_LIST_PTR_PTR) -> CK_RV {
    fn_get_function_list(functions)
}
